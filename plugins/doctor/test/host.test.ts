// Findings about host limits, with the figures of simulated hosts.

import { join } from 'node:path'
import t from 'tap'
import { privateDir } from '../../../test/support/private-dir.ts'
import { sluice } from '../../../test/support/process.ts'
import type { Host } from '../../cli/check-exports.ts'
import { findMount, unsuitableFilesystem } from '../../cli/exports.ts'
import { checkLimits, engineFinding } from '../checks/engine.ts'
import { thisHost } from '../host.ts'
import { hostWithFiles, idsOf, runCheck } from './provoke-findings.ts'

t.test('low limits of files and memory are found', async t => {
  const limits = 'Max open files            1024                 524288               files\n'
  const memory = {
    '/proc/self/cgroup': '0::/a/b\n',
    '/sys/fs/cgroup/a/memory.max': '134217728\n',
    '/sys/fs/cgroup/a/b/memory.max': 'max\n',
    '/proc/meminfo': 'MemTotal: 1000 kB\nMemAvailable: 10 kB\nSwapTotal: 1000 kB\nSwapFree: 10 kB\n'
  }

  t.same(idsOf(await runCheck('descriptors', hostWithFiles({ '/proc/self/limits': limits }))), [
    'descriptors.low'
  ])
  t.same(idsOf(await runCheck('memory', hostWithFiles(memory))), [
    'memory.limit',
    'memory.low',
    'memory.swap'
  ])
})

t.test('low limits of the network are found', async t => {
  const range = '/proc/sys/net/ipv4/ip_local_port_range'
  const conntrack = '/proc/sys/net/netfilter/nf_conntrack'
  const busy = {
    [range]: '60000\t61000\n',
    '/proc/sys/net/core/somaxconn': '128\n',
    [`${conntrack}_max`]: '1000\n',
    [`${conntrack}_count`]: '900\n'
  }
  const busyFindings = ['network.few_ports', 'network.conntrack_full', 'network.backlog']

  t.same(idsOf(await runCheck('network', hostWithFiles(busy))), busyFindings)
  const snmp = 'Udp: InDatagrams RcvbufErrors SndbufErrors\nUdp: 9 3 0\n'
  const dropping = {
    '/proc/net/sockstat': 'sockets: used 9\nTCP: inuse 5 orphan 0 tw 20000 alloc 8 mem 1\n',
    '/proc/net/snmp': `Tcp: A\nTcp: 1\n${snmp}`,
    '/proc/sys/net/core/rmem_max': '212992\n'
  }
  const reuse = '/proc/sys/net/ipv4/tcp_tw_reuse'
  const tw = 'network.time_wait'
  const buffers = 'network.udp_buffers'
  t.same(idsOf(await runCheck('network', hostWithFiles({ ...dropping, [range]: '32768 60999' }))), [
    tw,
    buffers
  ])
  t.same(
    idsOf(await runCheck('network', hostWithFiles({ ...dropping, [range]: '32768 60999', [reuse]: '1' }))),
    [buffers]
  )
  const small = hostWithFiles({ [`${conntrack}_max`]: '1000\n', [`${conntrack}_count`]: '9\n' })
  t.same(idsOf(await runCheck('network', small)), ['network.conntrack_small'])
  const reserved = hostWithFiles({
    [range]: '32768 60999',
    '/proc/sys/net/ipv4/ip_local_reserved_ports': '40000-40002\n'
  })
  const at = (port: number) => ({ isRunning: true, keys: { x_listen: `127.0.0.1:${port}` } })
  t.same(idsOf(await runCheck('ports', reserved, at(40_003))), ['port.silent', 'port.outgoing'])
  const shared = hostWithFiles({ '/etc/sluice/agent.toml': 'metrics_listen = "127.0.0.1:1"\n' })
  t.same(idsOf(await runCheck('ports', shared, at(1))), ['port.shared', 'port.silent'])
  t.same(idsOf(await runCheck('ports', reserved, at(40_001))), ['port.silent'])
})

t.test('a missing native engine and its low system limits are found', async t => {
  const pipes = hostWithFiles({
    '/proc/sys/fs/pipe-max-size': '65536',
    '/proc/sys/fs/pipe-user-pages-soft': '64'
  })
  const lacks = ['engine.kernel', 'engine.pipe_size', 'engine.pipe_pages']

  t.same(idsOf(checkLimits({ host: { ...thisHost, ...pipes } }, '5.10.0-28-amd64')), lacks)
  t.same(idsOf(checkLimits({ host: { ...thisHost, ...hostWithFiles({}) } }, '6.1.0')), [])
  t.same(idsOf([engineFinding({ engine: 'portable', reason: 'no binary' })]), ['engine.portable'])
})

t.test('full and read-only disks are found', async t => {
  const space = (bytes: number, files: number, isReadOnly: boolean): Partial<Host> => ({
    space: async () => ({ bytes, files, isReadOnly })
  })
  const none = ['disk.full', 'disk.inodes', 'disk.read_only']
  const mounts =
    '1 0 8:1 / / rw,relatime - ext4 /dev/a rw\n2 1 8:2 / /var\\040x ro,noatime - ext4 /dev/b rw\n'

  t.same(idsOf(await runCheck('disk', space(1, 9, true))), none)
  t.same(idsOf(await runCheck('disk', space(2 ** 28, 9e6, false))), ['disk.low'])
  t.equal(findMount('/var x/lib', mounts).isReadOnly, true)
  t.equal(findMount('/var', mounts).isReadOnly, false)
})

const isMemory = unsuitableFilesystem('/dev/shm') !== null

t.test(
  'a directory on a memory filesystem is found',
  { skip: isMemory ? false : 'there is no tmpfs at /dev/shm' },
  async t => {
    const found = await runCheck('directory', {}, { dir: '/dev/shm/none' })

    t.same(idsOf(found), ['directory.filesystem'])
  }
)

t.test('ports that the system refuses to open are found', async t => {
  const ports = async (listen: string) => idsOf(await runCheck('ports', {}, { keys: { x_listen: listen } }))

  t.same(await ports('[fe80::1]:4000'), ['port.refused'])
  if (process.getuid?.() === 0) process.seteuid?.(12_345) // gives up CAP_NET_BIND_SERVICE
  const found = await ports('127.0.0.1:81')
  if (process.getuid?.() === 0) process.seteuid?.(0)
  t.same(found, ['port.privileged'])
})

t.test('an outdated unit, or one with a missing program, is found', async t => {
  const { stdout } = await sluice(['service', 'install', 'server', '--print'])
  const unit = stdout.replace(
    /^ExecStart=.*/m,
    `ExecStart=${process.execPath} ${import.meta.filename} server`
  )
  const host = (present: string, fresh: string) => ({ read: () => present, ask: async () => fresh })

  t.same(idsOf(await runCheck('unit', host(unit, stdout))), [])
  t.same(idsOf(await runCheck('unit', host(unit.replace(/^LimitNOFILE=.*$/m, ''), stdout))), ['unit.old'])
  const gone = unit.replace(process.execPath, join(privateDir(t), 'node'))
  t.same(idsOf(await runCheck('unit', host(gone, stdout))), ['unit.program'])
})
