// Arguments: connect|listen PORT BEFORE AFTER [close [TEXT]]. Connects to 127.0.0.1, or accepts one connection. Sends the
// text, BEFORE bytes, an urgent "!" and AFTER bytes (RFC 6093), prints "sent", and waits for its input. With "close" it
// sends FIN before it waits. Then it reads to the end of the stream, and prints the number of bytes, or "reset".
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int open_connection(const char *how, const char *port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)atoi(port))};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (strcmp(how, "connect") == 0)
    return connect(fd, (struct sockaddr *)&address, sizeof address) == 0 ? fd : -1;
  int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(fd, 1) != 0) return -1;
  puts("listening");
  fflush(stdout);
  return accept(fd, NULL, NULL);
}

static int send_all(int fd, char byte, long count) {
  char buffer[4096];
  memset(buffer, byte, sizeof buffer);
  while (count > 0) {
    ssize_t sent = send(fd, buffer, count < (long)sizeof buffer ? (size_t)count : sizeof buffer, 0);
    if (sent < 0) return 0;
    count -= sent;
  }
  return 1;
}

int main(int argc, char **argv) {
  if (argc < 5) return 2;
  int fd = open_connection(argv[1], argv[2]);
  if (fd < 0) return 1;
  if (argc > 6 && send(fd, argv[6], strlen(argv[6]), 0) < 0) return 1;
  if (!send_all(fd, 'a', atol(argv[3])) || send(fd, "!", 1, MSG_OOB) != 1 || !send_all(fd, 'b', atol(argv[4]))) return 1;
  if (argc > 5) shutdown(fd, SHUT_WR);
  puts("sent");
  fflush(stdout);
  char byte;
  if (read(0, &byte, 1) < 0) return 1;
  if (argc < 6) return 0;
  char buffer[65536];
  long total = 0;
  ssize_t count;
  while ((count = recv(fd, buffer, sizeof buffer, 0)) > 0) total += count;
  if (count < 0)
    puts("reset");
  else
    printf("%ld\n", total);
  return 0;
}
