import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { dirname } from 'node:path'
import { Fault, unsupportedFilesystem } from '../../../kernel/base/errors.ts'
import { findMount } from './find-mount.ts'

// Filesystem types, as in /proc/self/mountinfo, that have unreliable locks or lose data at a reboot. FUSE is allowed only
// for known local filesystems.
const refused =
  /^(tmpfs|ramfs|nfs4?|cifs|smb3|smbfs|ncpfs|afs|ceph|coda|lustre|gpfs|beegfs\w*|panfs|orangefs|ocfs2|gfs2?|9p|virtiofs|vboxsf|vmhgfs|prl_fs|fuse(\..*)?)$/
const localFuse = /^fuse\.(fuse-overlayfs|ntfs|(low)?ntfs-3g|exfat(-fuse)?|fuse2fs)$/

/** Returns the type if it is unsuitable, else null. */
export const unsuitableType = (type: string): string | null =>
  refused.test(type) && !localFuse.test(type) ? type : null

/** Checks the directory, or its nearest existing parent. Returns the type of an unsuitable filesystem, else null. */
export function unsuitableFilesystem(dir: string): string | null {
  if (process.platform !== 'linux') return null
  if (!existsSync(dir)) return unsuitableFilesystem(dirname(dir))
  return unsuitableType(findMount(realpathSync(dir), readFileSync('/proc/self/mountinfo', 'utf8')).type)
}

export function checkFilesystem(dir: string): void {
  const kind = unsuitableFilesystem(dir)
  if (kind !== null)
    throw new Fault(unsupportedFilesystem, `${dir} is on ${kind}; give a data_dir on a local disk`)
}
