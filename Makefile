# Builds, tests, installs and measures `pipeline`. `make help` lists the targets.
#
# Requires Debian 12 or similar and Swift 6.3 or newer in PATH. `run` and `test`
# install missing packages with apt; they don't call apt if none is missing.

# --- Packages, in one place -------------------------------------------------

# To build: headers of the C libraries, and pkg-config to find them.
BUILD_PACKAGES = libvips-dev libjpeg-dev libtiff-dev zlib1g-dev libzimg-dev libsqlite3-dev \
	libmagic-dev libssl-dev libseccomp-dev libgexiv2-dev libutf8proc-dev libavformat-dev \
	libavcodec-dev libswscale-dev libraw-dev libmagickcore-dev libopenjp2-7-dev libmicrohttpd-dev \
	libcurl4-openssl-dev libexpat1-dev libpq-dev pkg-config
# To test: tests compile plugins in C, run plugins in Python, read the database with sqlite3 and
# trace workers, complete command lines and format manual pages as shells and man(1) do, store
# originals on a real S3 server, and lose packets between networks of their own.
TEST_PACKAGES = gcc libc6-dev make python3 python3-pil sqlite3 strace util-linux libjpeg-turbo-progs \
	zsh fish groff-base ffmpeg curl radosgw ceph-mon ceph-osd ceph-common faketime iproute2
# To test pages in a browser; Playwright is not in Debian, so Tests/browser installs it below .build.
BROWSER_PACKAGES = chromium python3-venv python3-pil ffmpeg
# To measure: hyperfine and the programs always compared with. ImageMagick, sigal and git-annex are
# included if installed.
BENCH_PACKAGES = hyperfine libvips-tools libjpeg-turbo-progs jq python3 ffmpeg ffmpegthumbnailer poppler-utils \
	libheif-examples libimage-exiftool-perl wrk
# To measure the quality of scaling and the accuracy of facts, in addition to the above.
QUALITY_PACKAGES = ffmpeg python3-pil libimage-exiftool-perl
# To install: sets the installed files' search path for Swift libraries.
INSTALL_PACKAGES = patchelf

# --- Places -----------------------------------------------------------------

PREFIX = /usr/local
DESTDIR =
SWIFT = swift
RELEASE = .build/release

# The optional libraries that are installed, by pkg-config name; without one, its plugin is left
# out. SwiftPM caches the evaluation of Package.swift until this variable changes, so a library
# installed later is noticed. It is expanded anew for each recipe, because `packages` may just
# have installed one.
FOUND = $(shell for name in gexiv2 libavformat libraw libopenjp2 MagickCore; do ! pkg-config --exists $$name || printf '%s ' $$name; done)
export PIPELINE_FOUND_LIBRARIES = $(FOUND)

# Which tests `make test` runs: see Tests/some; all by default.
ONLY ?=
export ONLY

SWIFT_FILES = Package.swift Sources Plugins Decoders Tests Examples Benchmarks/BucketProbe Benchmarks/FetchProbe Benchmarks/LedgerProbe

SHELL = /bin/bash
.SHELLFLAGS = -eu -o pipefail -c
.DEFAULT_GOAL = help
MAKEFLAGS += --no-print-directory
# Builds share one folder, so concurrent ones would only wait for each other.
.NOTPARALLEL:
.PHONY: help run test servers unit browser build check lint format install uninstall faults faults-cluster fuzz corpus damaged mutated bench bench-bucket bench-cluster searches ways-in iiif kinds storage quality \
	sanitize clean packages test-packages browser-packages toolchain

help: ## List the targets
	@echo 'make TARGET, where TARGET is'
	@grep -E '^[a-z-]+:.* ## ' $(firstword $(MAKEFILE_LIST)) \
	  | sed -E 's/^([a-z-]+):.* ## /\1\t/' | while IFS=$$'\t' read -r name text; do \
	    printf '  %-14s %s\n' "$$name" "$$text"; done

# --- Every day --------------------------------------------------------------

run: packages build ## Install what is missing, build, make samples, and run the pipeline on inbox/
	@umask 077; mkdir -p inbox
	@if [ -z "$$(ls -A inbox)" ]; then \
	  $(RELEASE)/sample-pictures inbox; echo 'Put sample pictures into inbox/.'; fi
	@chmod go-w pipeline.json
	$(RELEASE)/pipeline run --verbose
	@$(RELEASE)/pipeline status
	@echo
	@echo 'Look at:'
	@echo '  $(RELEASE)/pipeline list'
	@echo '  $(RELEASE)/pipeline show ID                                  one picture with its facts'
	@echo '  $(RELEASE)/pipeline get ID --rendition preview -o thumb.jpg  a thumbnail'
	@echo '  library/originals/                                           the bytes as they came'
	@echo 'See the pictures in a browser:'
	@echo '  $(RELEASE)/pipeline serve                                    then open http://127.0.0.1:8420/'
	@echo '(ID is any unique prefix or suffix of an ID that list prints.)'

# Builds for tests turn warnings into errors (see Package.swift), so `check` needs no build of its own.
test: packages test-packages toolchain ## Build, and run all tests; with ONLY=NAME those of a target, suite, function or sentence
	@umask 022; if [ -n "$$ONLY" ]; then Tests/some '$(SWIFT)' "$$ONLY"; else Tests/side-by-side '$(SWIFT)'; fi

# Without suites that name servers themselves, and those that make no library.
servers: packages test-packages toolchain ## Test the built program with PostgreSQL and a bucket instead of SQLite and folders
	@Packaging/require-packages postgresql-15
	@umask 022; PIPELINE_TEST_SERVERS=1 Tests/side-by-side '$(SWIFT)' '^EndToEndTests\.' \
	  '\.(Bucket|Database|Failover|Joined|MachineFault|ManifestCopy|MoveCatalog|ThreeNodes|Pooler|Work|Manual|Plugin[A-Z]|Readme|Unit)'

unit: packages test-packages toolchain ## Build, and run the tests that start neither the program nor a worker
	@umask 022; Tests/unit '$(SWIFT)'

# The debug build of `make test`.
browser: packages browser-packages toolchain ## Test the pages of `pipeline serve` in Chromium; with ONLY=REGEX some of the tests
	@umask 022; $(SWIFT) build < /dev/null
	@umask 022; Tests/browser .build/debug "$${ONLY:-.}"

# All that `browser` fetches from the network.
browser-packages:
	@Packaging/require-packages $(BROWSER_PACKAGES)
	@umask 022; Tests/browser --install

build: packages toolchain ## Build a release: .build/release/pipeline and its plugins
	@umask 022; $(SWIFT) build -c release < /dev/null
	@Packaging/left-out-plugins '$(RELEASE)' $(FOUND)

check: lint test ## What CI runs: format, and in one build no warnings, import boundaries, all tests

lint: toolchain
	$(SWIFT) format lint --strict --recursive $(SWIFT_FILES)

format: toolchain ## Format all Swift files in place
	$(SWIFT) format --in-place --recursive $(SWIFT_FILES)

clean: ## Remove what was built; inbox/ and library/ stay
	rm -rf .build

# --- Installing -------------------------------------------------------------

install: build ## Build, and install a release below PREFIX (/usr/local), within DESTDIR
	@Packaging/require-packages $(INSTALL_PACKAGES)
	@Packaging/install '$(RELEASE)' '$(PREFIX)' '$(DESTDIR)'

uninstall: ## Remove what `make install` put there, and nothing else
	@Packaging/uninstall '$(DESTDIR)$(PREFIX)'

# --- Now and then -----------------------------------------------------------

# Every fault at every place, not only at a selection; PIPELINE_KILLS sets the number of random
# kills.
faults: packages test-packages toolchain ## Inject every fault in full, and print a line for each
	@umask 022; Tests/faults '$(SWIFT)'

# PIPELINE_ROUNDS and PIPELINE_FILES set how often and how much Tests/cluster disturbs, PIPELINE_STRIKES how often other tests do. The packages postgresql-15 and pgbouncer start servers.
faults-cluster: packages test-packages toolchain ## Kill processes of one library in PostgreSQL and a bucket, print a line for each fault, and test the program with both
	@Packaging/require-packages postgresql-15 pgbouncer
	@umask 022; Tests/faults '$(SWIFT)' cluster
	@$(MAKE) servers

# Inputs differ each time unless PIPELINE_SEED is set.
fuzz: packages test-packages toolchain ## Feed every prefix of small files, 10,000 damaged ones and 1,000,000 plugin messages
	@umask 022; Tests/fuzz '$(SWIFT)'

# The folder that PIPELINE_CORPUS names is only read.
corpus: packages build ## Run every bundled stage on a folder of any files, and check the results
	@Packaging/require-packages jq
	@Tests/corpus

# Changes differ each time unless PIPELINE_SEED is set; PIPELINE_FILES sets their number. The
# folder that PIPELINE_CORPUS names is only read; without it pictures are drawn.
damaged: packages test-packages build ## Truncate and alter 2,000 JPEGs, and compare the results with other programs'
	@Tests/damaged

# Changes differ each time unless PIPELINE_SEED is set; PIPELINE_FILES sets their number for each kind, and
# PIPELINE_KINDS which kinds. Needs an hour.
mutated: packages build ## Change 10,000 files of each kind at random, and print what the program made of them
	@Packaging/require-packages libvips-tools ffmpeg python3-pil
	@Tests/mutated

# IIIF_VALIDATOR names the validator's program if it is not in PATH.
iiif: packages build ## Have the official validator check the server's images
	@Tests/iiif

# The folder that PIPELINE_CORPUS names is only read; without it photographs are drawn.
bench: packages build ## Measure speed, memory and start-up, compared with other programs
	@Packaging/require-packages $(BENCH_PACKAGES)
	@Benchmarks/suite

# Needs 5 GB, and a quarter of an hour.
searches: packages build ## Measure searches and fetches in a library of a million assets
	@Packaging/require-packages sqlite3 python3
	@Benchmarks/searches '$(RELEASE)'

# Needs 3 GB.
bench-bucket: packages build ## Measure originals in a bucket of a real S3 server, beside curl and a folder
	@Packaging/require-packages curl radosgw ceph-mon ceph-osd ceph-common python3
	@Benchmarks/bucket '$(RELEASE)'

# Needs 3 GB, and half an hour; PIPELINE_ROUNDS sets how often each is measured with the database.
# Work without a server is compared with the release build in the folder that PIPELINE_BEFORE names, or left out.
bench-cluster: packages build ## Measure several processes on one catalog in PostgreSQL, beside pgbench and SQLite, and buckets beside curl
	@Packaging/require-packages postgresql libvips-tools python3 curl radosgw ceph-mon ceph-osd ceph-common
	@status=0; Benchmarks/cluster '$(RELEASE)' || status=$$?; Benchmarks/bucket '$(RELEASE)' || status=$$?; exit $$status

# Installs file servers, which their packages start: for a container or a virtual machine. Needs root.
ways-in: packages build ## Have file servers, gphoto2 and scanimage write into watched folders, and say what was seen
	@Packaging/require-packages samba smbclient vsftpd lftp rclone curl gphoto2 sane-utils inotify-tools strace python3
	@Tests/ways-in '$(RELEASE)/pipeline'

# The folder that PIPELINE_CORPUS names is only read; without it files are made.
kinds: packages build ## Run the program on files of every kind, and print what became of them
	@Packaging/require-packages libvips-tools $(QUALITY_PACKAGES)
	@Benchmarks/kinds '$(RELEASE)'

# Needs 5 GB, and half an hour.
storage: packages build ## Measure renditions in the database and in files, by size
	@Packaging/require-packages $(BENCH_PACKAGES) gcc libc6-dev
	@Benchmarks/storage

# The same photographs as for `bench`.
quality: packages build ## Compare thumbnails by PSNR and SSIM, fast with exact and libvips', and facts with ExifTool's
	@Packaging/require-packages $(BENCH_PACKAGES) $(QUALITY_PACKAGES)
	@Benchmarks/quality
	@[ -z "$${PIPELINE_CORPUS:-}" ] || Benchmarks/quality-beside-vips

# The program loads plugins, so it must export the sanitizer's functions to them.
# SQLite, libvips and others are not instrumented: memory that they never free is not our leak.
SANITIZED = -Xlinker --export-dynamic --no-parallel
sanitize: packages test-packages toolchain ## Run the tests under the thread and address sanitizers
	@umask 022; TSAN_OPTIONS=suppressions=$(CURDIR)/Tests/thread-sanitizer.suppressions \
	  $(SWIFT) test --scratch-path .build/thread --sanitize=thread $(SANITIZED) < /dev/null
	@umask 022; ASAN_OPTIONS=detect_leaks=0 \
	  $(SWIFT) test --scratch-path .build/address --sanitize=address $(SANITIZED) < /dev/null

# --- Prerequisites ----------------------------------------------------------

packages:
	@Packaging/require-packages $(BUILD_PACKAGES)

test-packages:
	@Packaging/require-packages $(TEST_PACKAGES)

toolchain:
	@Packaging/require-swift '$(SWIFT)' 6.3
