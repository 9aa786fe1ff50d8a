// A copy of a SQLite database in WAL mode, as a disk may hold it after a power cut.
import { readFileSync, rmSync, statSync, truncateSync } from 'node:fs'

const logHead = 32
const frameHead = 24
// Of the index: how much of the log is valid, and how much of that is in the database, which had it confirmed before.
const at = { pageBytes: 14, frames: 16, copied: 96 }

/** The end of the log is gone: of the frames that were perhaps not confirmed, `keep` says how many are there. */
export function loseLog(file: string, keep: (frames: number) => number): void {
  const index = readFileSync(`${file}-shm`)
  const [frames, copied] = [index.readUInt32LE(at.frames), index.readUInt32LE(at.copied)]
  const frameBytes = frameHead + index.readUInt16LE(at.pageBytes)
  const bytes = logHead + (copied + keep(frames - copied)) * frameBytes
  if (bytes < statSync(`${file}-wal`).size) truncateSync(`${file}-wal`, bytes)
  rmSync(`${file}-shm`)
}
