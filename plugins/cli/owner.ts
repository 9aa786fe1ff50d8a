import { lchownSync, lstatSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** Gives files that root has created in a service's directory to the owner of the directory. */
export function restoreOwner(dir: string): void {
  if (process.getuid?.() !== 0) return
  const { uid, gid } = statSync(dir, { throwIfNoEntry: false }) ?? { uid: 0, gid: 0 }
  if (uid === 0) return
  for (const name of readdirSync(dir, { recursive: true, encoding: 'utf8' }))
    if (lstatSync(join(dir, name), { throwIfNoEntry: false })?.uid === 0)
      lchownSync(join(dir, name), uid, gid)
}
