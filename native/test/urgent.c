// A client of 127.0.0.1:PORT that sends "ab", an urgent "!" and "cd" (RFC 6093), prints "sent", and exits when its
// standard input ends.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)atoi(argv[1]))};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0) return 1;
  if (send(fd, "ab", 2, 0) != 2 || send(fd, "!", 1, MSG_OOB) != 1 || send(fd, "cd", 2, 0) != 2) return 1;
  puts("sent");
  fflush(stdout);
  char byte;
  return read(0, &byte, 1) < 0;
}
