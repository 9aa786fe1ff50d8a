import { statfs } from 'node:fs/promises'
import { Fault, unsupportedFilesystem } from '../base/errors.ts'

// Magic numbers of statfs(2), linux/magic.h: locks are unreliable there, or data is lost at a reboot.
const refused: ReadonlyMap<number, string> = new Map([
  [0x01021994, 'tmpfs'],
  [0x858458f6, 'ramfs'],
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xff534d42, 'CIFS'],
  [0xfe534d42, 'SMB2'],
  [0x01021997, '9P'],
  [0x5346414f, 'AFS'],
  [0x00c36400, 'Ceph'],
  [0x73757245, 'Coda'],
  [0x564c, 'NCP'],
  [0x0bd00bd0, 'Lustre']
])

/** Returns the name of an unsuitable filesystem, by its statfs number, else null. */
export const refusedKind = (type: number): string | null => refused.get(type >>> 0) ?? null

export async function checkFilesystem(dir: string): Promise<void> {
  const kind = refusedKind((await statfs(dir)).type)
  if (kind !== null)
    throw new Fault(unsupportedFilesystem, `${dir} is on ${kind}; give a data_dir on a local disk`)
}
