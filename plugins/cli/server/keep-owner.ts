import { lchownSync, lstatSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Lists the entries of a service's directory before root works in it. The returned function gives entries that root has
 * created since then to the directory's owner. It changes no other entry, because --data-dir may name any directory.
 */
export function keepOwner(dir: string): () => void {
  if (process.getuid?.() !== 0) return () => {}
  const before = new Set(entriesOf(dir))
  return () => {
    const { uid, gid } = statSync(dir, { throwIfNoEntry: false }) ?? { uid: 0, gid: 0 }
    if (uid === 0) return
    for (const entry of entriesOf(dir)) if (!before.has(entry)) giveTo(uid, gid, join(dir, nameOf(entry)))
  }
}

/** Returns the entries with their ctime, which changes with every write. */
const entriesOf = (dir: string): string[] =>
  statSync(dir, { throwIfNoEntry: false })?.isDirectory()
    ? readdirSync(dir).map(name => `${lstatSync(join(dir, name), { bigint: true }).ctimeNs}/${name}`)
    : []
const nameOf = (entry: string): string => entry.slice(entry.indexOf('/') + 1)

function giveTo(uid: number, gid: number, path: string): void {
  const found = lstatSync(path)
  if (found.uid === 0) lchownSync(path, uid, gid)
  if (found.isDirectory()) for (const name of readdirSync(path)) giveTo(uid, gid, join(path, name))
}
