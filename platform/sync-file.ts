// Makes files and directories durable. Shared by server and agent.
import { closeSync, fsyncSync, openSync } from 'node:fs'

/** Returns when the content of a file, or the entries of a directory, are on disk: fsync(2). */
export function sync(path: string): void {
  const fd = openSync(path, 'r')
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

/** The same for a directory, where the system can open one. */
export function syncDir(dir: string): void {
  if (process.platform !== 'win32') sync(dir)
}
