// A copy of a SQLite database in WAL mode, as a disk may hold it after a power cut.
import { readFileSync, rmSync, statSync, truncateSync } from 'node:fs'

const logHeadBytes = 32
const frameHeadBytes = 24
// Offsets in the index: page size, valid frames of the log, frames already copied into the synced database.
const offsets = { pageBytes: 14, frames: 16, copied: 96 }

/** Cuts off the end of the log: `keep` returns how many of the unsynced frames remain. */
export function cutLog(file: string, keep: (frames: number) => number): void {
  const index = readFileSync(`${file}-shm`)
  const frames = index.readUInt32LE(offsets.frames)
  const copied = index.readUInt32LE(offsets.copied)
  const frameBytes = frameHeadBytes + index.readUInt16LE(offsets.pageBytes)
  const bytes = logHeadBytes + (copied + keep(frames - copied)) * frameBytes
  if (bytes < statSync(`${file}-wal`).size) truncateSync(`${file}-wal`, bytes)
  rmSync(`${file}-shm`)
}
