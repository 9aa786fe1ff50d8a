// A copy of a SQLite database in WAL mode, as a disk may hold it after a power cut.
import { readFileSync, rmSync, statSync, truncateSync } from 'node:fs'

const logHead = 32
const frameHead = 24
// Offsets in the index: valid frames of the log, and those of them that were copied into the synced database.
const at = { pageBytes: 14, frames: 16, copied: 96 }

/** Cuts off the end of the log: `keep` returns how many of the unsynced frames remain. */
export function loseLog(file: string, keep: (frames: number) => number): void {
  const index = readFileSync(`${file}-shm`)
  const [frames, copied] = [index.readUInt32LE(at.frames), index.readUInt32LE(at.copied)]
  const frameBytes = frameHead + index.readUInt16LE(at.pageBytes)
  const bytes = logHead + (copied + keep(frames - copied)) * frameBytes
  if (bytes < statSync(`${file}-wal`).size) truncateSync(`${file}-wal`, bytes)
  rmSync(`${file}-shm`)
}
