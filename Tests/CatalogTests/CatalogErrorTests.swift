import Catalog
import Testing
