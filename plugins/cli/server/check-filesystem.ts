import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { dirname } from 'node:path'
import { Fault, unsupportedFilesystem } from '../../../kernel/base/errors.ts'

// Filesystem types, as in /proc/self/mountinfo, that have unreliable locks or lose data at a reboot. FUSE is allowed only
// for known local filesystems.
const refused =
  /^(tmpfs|ramfs|nfs4?|cifs|smb3|smbfs|ncpfs|afs|ceph|coda|lustre|gpfs|beegfs\w*|panfs|orangefs|ocfs2|gfs2?|9p|virtiofs|vboxsf|vmhgfs|prl_fs|fuse(\..*)?)$/
const localFuse = /^fuse\.(fuse-overlayfs|ntfs|(low)?ntfs-3g|exfat(-fuse)?|fuse2fs)$/

/** Returns the type if it is unsuitable, else null. */
export const refusedKind = (type: string): string | null =>
  refused.test(type) && !localFuse.test(type) ? type : null

/** Returns the filesystem type at a path that has no symbolic links. `mountinfo`: the text of /proc/self/mountinfo. */
export function typeAt(path: string, mountinfo: string): string {
  let longest = ''
  let found = ''
  for (const [, escaped = '', type = ''] of mountinfo.matchAll(/^\S+ \S+ \S+ \S+ (\S+) .* - (\S+) /gm)) {
    const at = escaped.replaceAll(/\\(\d{3})/g, (_, octal) => String.fromCharCode(Number.parseInt(octal, 8)))
    const covers = at === '/' || path === at || path.startsWith(`${at}/`)
    if (covers && at.length >= longest.length) {
      longest = at
      found = type // a later mount hides an earlier one
    }
  }
  return found
}

/** Checks the directory, or its nearest existing parent. Returns the type of an unsuitable filesystem, else null. */
export function unsuitableKind(dir: string): string | null {
  if (process.platform !== 'linux') return null
  if (!existsSync(dir)) return unsuitableKind(dirname(dir))
  return refusedKind(typeAt(realpathSync(dir), readFileSync('/proc/self/mountinfo', 'utf8')))
}

export function checkFilesystem(dir: string): void {
  const kind = unsuitableKind(dir)
  if (kind !== null)
    throw new Fault(unsupportedFilesystem, `${dir} is on ${kind}; give a data_dir on a local disk`)
}
