// A supervisor as in sd_notify(3): binds the socket argv[1] and prints each datagram on a line, its lines joined by spaces.
// With a second argument it reads nothing until its input ends.
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int main(int argc, char **argv) {
  struct sockaddr_un at = {.sun_family = AF_UNIX};
  const size_t length = strlen(argv[1]);
  memcpy(at.sun_path, argv[1], length);
  if (at.sun_path[0] == '@') at.sun_path[0] = 0;
  const int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
  if (bind(fd, (struct sockaddr *)&at, offsetof(struct sockaddr_un, sun_path) + length) < 0) {
    perror("bind");
    return 1;
  }
  puts("bound");
  fflush(stdout);
  char text[4096];
  if (argc > 2)
    while (read(0, text, sizeof(text)) > 0) {
    }
  for (;;) {
    const ssize_t size = recv(fd, text, sizeof(text), 0);
    if (size < 0) return 1;
    for (ssize_t i = 0; i < size; i++) putchar(text[i] == '\n' ? ' ' : text[i]);
    putchar('\n');
    fflush(stdout);
  }
}
