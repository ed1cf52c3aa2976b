// What starting a program needs from <spawn.h> and <unistd.h>, declared only under _GNU_SOURCE,
// which Swift's own import lacks.

#include <spawn.h>

int pipeline_spawn_in_folder(posix_spawn_file_actions_t *actions, const char *path)
    __asm__("posix_spawn_file_actions_addchdir_np");
int pipeline_spawn_closing_from(posix_spawn_file_actions_t *actions, int first)
    __asm__("posix_spawn_file_actions_addclosefrom_np");
int pipeline_pipe(int ends[2], int flags) __asm__("pipe2");
