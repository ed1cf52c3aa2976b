// Shows a folder, read-only, on a FUSE file system: see FuseFolder.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static char names[1024][256];
static int count, device, backing;

static void reply(unsigned long unique, int error, const void *data, size_t size) {
  struct fuse_out_header head = {sizeof head + (error ? 0 : size), -error, unique};
  struct iovec parts[2] = {{&head, sizeof head}, {(void *)data, error ? 0 : size}};
  if (writev(device, parts, 2) < 0 && errno != ENOENT) exit(3);
}

static unsigned long node(const char *name) {
  for (int i = 0; i < count; i++) if (!strcmp(names[i], name)) return i + 2;
  strncpy(names[count], name, 255);
  return ++count + 1;
}

static int attributes(unsigned long id, struct fuse_attr *out) {
  struct stat s;
  int code = id == 1 ? fstat(backing, &s) : fstatat(backing, names[id - 2], &s, AT_SYMLINK_NOFOLLOW);
  if (code) return errno;
  *out = (struct fuse_attr){.ino = id, .size = s.st_size, .blocks = s.st_blocks, .mode = s.st_mode,
    .nlink = s.st_nlink, .uid = s.st_uid, .gid = s.st_gid, .blksize = 4096,
    .mtime = s.st_mtim.tv_sec, .mtimensec = s.st_mtim.tv_nsec,
    .ctime = s.st_ctim.tv_sec, .ctimensec = s.st_ctim.tv_nsec};
  return 0;
}

static size_t list(unsigned long offset, size_t size, char *out) {
  size_t used = 0;
  unsigned long place = 0;
  int copy = openat(backing, ".", O_RDONLY | O_DIRECTORY);
  DIR *folder = fdopendir(copy);
  for (struct dirent *e; (e = readdir(folder)); ) {
    if (++place <= offset) continue;
    size_t length = strlen(e->d_name);
    struct fuse_dirent entry = {node(e->d_name), place, length, e->d_type};
    size_t whole = FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET + length);
    if (used + whole > size) break;
    memset(out + used, 0, whole);
    memcpy(out + used, &entry, FUSE_NAME_OFFSET);
    memcpy(out + used + FUSE_NAME_OFFSET, e->d_name, length);
    used += whole;
  }
  closedir(folder);
  return used;
}

int main(int argc, char **argv) {
  static char in[1 << 18], out[1 << 18];
  backing = open(argv[1], O_RDONLY | O_DIRECTORY);
  device = open("/dev/fuse", O_RDWR);
  char options[200];
  snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", device);
  if (backing < 0 || device < 0 || mount("folder", argv[2], "fuse", 0, options)) return perror("mount"), 2;
  // Whoever waits for the mount may go on; the kernel keeps questions until they are answered.
  if (fork()) _exit(0);
  for (;;) {
    ssize_t got = read(device, in, sizeof in);
    if (got < 0) { if (errno == EINTR || errno == ENOENT) continue; return 0; }
    struct fuse_in_header *head = (void *)in;
    void *body = in + sizeof *head;
    unsigned long id = head->nodeid, unique = head->unique;
    switch (head->opcode) {
    case FUSE_INIT: {
      struct fuse_init_out o = {.major = 7, .minor = 31, .max_readahead = 65536, .max_write = 65536,
        .max_background = 8, .congestion_threshold = 6, .time_gran = 1, .max_pages = 16};
      reply(unique, 0, &o, sizeof o);
      break;
    }
    case FUSE_GETATTR: {
      struct fuse_attr_out o = {0};
      int error = attributes(id, &o.attr);
      reply(unique, error, &o, sizeof o);
      break;
    }
    case FUSE_LOOKUP: {
      struct fuse_entry_out o = {0};
      o.nodeid = node(body);
      int error = attributes(o.nodeid, &o.attr);
      reply(unique, error, &o, sizeof o);
      break;
    }
    case FUSE_OPEN: case FUSE_OPENDIR: {
      struct fuse_open_out o = {.open_flags = FOPEN_DIRECT_IO};
      reply(unique, 0, &o, sizeof o);
      break;
    }
    case FUSE_READDIR: {
      struct fuse_read_in *r = body;
      reply(unique, 0, out, list(r->offset, r->size, out));
      break;
    }
    case FUSE_READ: {
      struct fuse_read_in *r = body;
      int file = openat(backing, names[id - 2], O_RDONLY | O_NOFOLLOW);
      ssize_t size = file < 0 ? -1 : pread(file, out, r->size, r->offset);
      int error = size < 0 ? errno : 0;
      if (file >= 0) close(file);
      reply(unique, error, out, size);
      break;
    }
    case FUSE_STATFS: {
      struct fuse_statfs_out o = {.st = {.bsize = 4096, .frsize = 4096, .namelen = 255}};
      reply(unique, 0, &o, sizeof o);
      break;
    }
    case FUSE_FLUSH: case FUSE_RELEASE: case FUSE_RELEASEDIR: case FUSE_ACCESS: case FUSE_FSYNC:
      reply(unique, 0, 0, 0);
      break;
    case FUSE_FORGET: case FUSE_BATCH_FORGET: case FUSE_INTERRUPT: break;
    case FUSE_DESTROY: return 0;
    default: reply(unique, ENOSYS, 0, 0);
    }
  }
}
