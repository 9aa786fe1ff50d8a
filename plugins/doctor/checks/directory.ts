// The directory of a server or agent: filesystem, permissions, owner and free space.
import { existsSync, statSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { defineCheck, type Finding } from '../../cli/check-exports.ts'
import { unsuitableFilesystem } from '../../cli/exports.ts'

export const directory = defineCheck({
  name: 'directory',
  roles: ['server', 'agent'],
  findings: {
    'directory.filesystem': {
      status: 'fail',
      when: 'the directory is on a network, cluster, guest-share or memory filesystem',
      remedy: 'give a data_dir or state_dir on a local disk'
    },
    'directory.rights': {
      status: 'fail',
      when: 'other users can read or write the directory or a file in it',
      remedy: 'run chmod go= on it'
    },
    'directory.owner': {
      status: 'fail',
      when: 'a file in the directory belongs to a user who does not own the directory',
      remedy: 'run chown on it: the service cannot write files of another user'
    }
  },
  async run({ dir }) {
    const kind = unsuitableFilesystem(dir)
    if (kind !== null) return [{ id: 'directory.filesystem', message: `${dir} is on ${kind}` }]
    if (!existsSync(dir)) return [{ ok: `the first start creates ${dir}` }]
    const { uid } = statSync(dir)
    const names = await readdir(dir)
    const files = names.map(name => join(dir, name)).filter(path => existsSync(path)) // skips files that vanish in between
    const open = [dir, ...files].filter(path => (statSync(path).mode & 0o066) !== 0)
    const foreign = files.filter(path => statSync(path).uid !== uid)
    const found = [
      ...open.map(path => ({
        id: 'directory.rights' as const,
        message: `others can read or write ${path}`,
        remedy: `run chmod go= ${path}`
      })),
      ...foreign.map(path => ({
        id: 'directory.owner' as const,
        message: `${path} belongs to user ${statSync(path).uid}, but ${dir} to ${uid}`,
        remedy: `run chown --reference=${dir} ${path}`
      }))
    ]
    return found.length > 0 ? found : [{ ok: `${dir} is a private directory on a local disk` }]
  }
})

const wantedFreeBytes = 512 * 2 ** 20
const neededFreeBytes = 16 * 2 ** 20
const wantedFreeInodes = 1000

type DiskFindingId = 'disk.full' | 'disk.low' | 'disk.inodes' | 'disk.read_only'

export const disk = defineCheck<DiskFindingId>({
  name: 'disk',
  roles: ['server', 'agent'],
  findings: {
    'disk.full': {
      status: 'fail',
      when: 'less than 16 MiB is free',
      remedy: 'free space: a full disk makes the server refuse changes and the agent delay its reports'
    },
    'disk.low': {
      status: 'warn',
      when: 'less than 512 MiB is free',
      remedy: 'free some space: a full disk makes the server refuse changes and the agent delay its reports'
    },
    'disk.inodes': {
      status: 'warn',
      when: 'fewer than 1,000 inodes are free',
      remedy: 'delete small files (df -i shows the usage): every file needs an inode'
    },
    'disk.read_only': {
      status: 'fail',
      when: 'the filesystem is mounted read-only',
      remedy: 'look for disk errors in dmesg, then remount the filesystem read-write'
    }
  },
  async run({ dir, host }) {
    const at = nearest(dir)
    const { bytes, files, isReadOnly } = await host.space(at)
    const found: Finding<DiskFindingId>[] = []
    const message = `${Math.floor(bytes / 2 ** 20)} MiB free at ${at}`
    if (bytes < neededFreeBytes) found.push({ id: 'disk.full', message })
    else if (bytes < wantedFreeBytes) found.push({ id: 'disk.low', message })
    if (files !== null && files < wantedFreeInodes)
      found.push({ id: 'disk.inodes', message: `${files} inodes free at ${at}` })
    if (isReadOnly)
      found.push({ id: 'disk.read_only', message: `the filesystem of ${at} is mounted read-only` })
    return found.length > 0 ? found : [{ ok: message }]
  }
})

const nearest = (dir: string): string => (existsSync(dir) ? dir : nearest(dirname(dir)))
