// Truncates the WAL of a SQLite database, as a power cut may do.
import { readFileSync, rmSync, statSync, truncateSync } from 'node:fs'

const logHeadBytes = 32
const frameHeadBytes = 24
// Offsets in the WAL index: page size, valid frames of the WAL, frames already copied into the synced database.
const offsets = { pageBytes: 14, frames: 16, copied: 96 }

/** Cuts unsynced frames off the end of the WAL. `keep` returns how many of them remain. */
export function cutLog(file: string, keep: (frames: number) => number): void {
  const index = readFileSync(`${file}-shm`)
  const frames = index.readUInt32LE(offsets.frames)
  const copied = index.readUInt32LE(offsets.copied)
  const frameBytes = frameHeadBytes + index.readUInt16LE(offsets.pageBytes)
  const bytes = logHeadBytes + (copied + keep(frames - copied)) * frameBytes
  if (bytes < statSync(`${file}-wal`).size) truncateSync(`${file}-wal`, bytes)
  rmSync(`${file}-shm`)
}
