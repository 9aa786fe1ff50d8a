import { closeSync, fsyncSync, openSync } from 'node:fs'

/** Flushes the content of a file, or the entries of a directory, to disk: fsync(2). */
export function sync(path: string): void {
  const fd = openSync(path, 'r')
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

/** Flushes a directory. Does nothing on Windows, which cannot open directories. */
export function syncDir(dir: string): void {
  if (process.platform !== 'win32') sync(dir)
}
