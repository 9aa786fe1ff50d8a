// A small Debian that boots systemd: a container of systemd-nspawn with the network of this machine.
import { type ChildProcess, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import type { Test } from 'tap'
import { spawnChild } from '../../../test/support/child-process.ts'
import { run } from '../run.ts'
import { type Debian, hostIn, noDebian, unpacked } from './debian.ts'
import { type Daemon, type Machine, startDaemon } from './machine.ts'

/** The reason why it cannot run here, or false. */
export const noBootedDebian =
  noDebian ||
  (spawnSync('systemd-nspawn', ['--version']).error
    ? 'systemd-nspawn is not installed'
    : !existsSync('/sys/fs/cgroup') && 'there are no control groups')

/** Units that would wait for hardware or a network, and the console login. */
const masked = ['systemd-networkd', 'systemd-resolved', 'systemd-timesyncd', 'console-getty', 'getty@tty1']

/** Writes to the pipe /ready when the host is up. */
const ready = `[Unit]
After=multi-user.target
[Service]
Type=oneshot
ExecStart=/bin/sh -c 'echo up > /ready'
[Install]
WantedBy=default.target
`

/** Returns a host that runs until the test ends. */
export async function bootedDebian(t: Test): Promise<Debian> {
  const dir = unpacked(t, 'booted', 'systemd,systemd-sysv,dbus,rpm,ca-certificates,curl,libstdc++6')
  writeFileSync(join(dir, 'etc/systemd/system/ready.service'), ready)
  run('systemctl', ['--quiet', `--root=${dir}`, 'enable', 'ready.service'])
  run('systemctl', ['--quiet', `--root=${dir}`, 'mask', ...masked.map(unit => `${unit}.service`)])
  const pipe = join(dir, 'ready')
  run('mkfifo', [pipe])
  const options = ['--boot', '--register=no', '--keep-unit', '--quiet', '--console=pipe']
  const container = spawnChild(
    'setpriv',
    ['--pdeathsig=KILL', 'systemd-nspawn', `--directory=${dir}`, ...options],
    { stdio: ['ignore', 'ignore', 'inherit'] }
  )
  const exit = once(container, 'exit')
  t.teardown(async () => {
    for (const pid of [...childrenOf(container), Number(container.pid)]) process.kill(pid, 'SIGKILL')
    await exit
  })
  const up = await open(pipe, 'r+') // read and write: opens at once, and still detects the end of the container
  const read = up.read(Buffer.alloc(1))
  await Promise.race([read, exit])
  if (container.exitCode !== null) {
    await up.write('x') // unblocks the reader
    throw new Error('systemd-nspawn ended before the host was up')
  }
  await up.close()
  const [init] = childrenOf(container)
  return hostIn(dir, ['nsenter', '-t', String(init), ...'-m -p -u -i -C -r -w'.split(' ')])
}

/** The only child of systemd-nspawn is systemd; when it dies, the whole host ends. */
const childrenOf = ({ pid }: ChildProcess): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number)

/** Returns a machine where systemd runs the services, with the environment of the command that starts them. */
export function machineWith({ prefix }: Debian): Machine {
  const start = (role: string): string[] => [
    ...['sh', '-c'],
    `umask 077 && env | grep ^SVC_ > /etc/sluice/${role}.env
     systemctl enable --quiet sluice-${role} && systemctl restart sluice-${role} && ${journalOf(role)}`
  ]
  return {
    prefix,
    sluice: ['sluice'],
    serverDir: '/var/lib/sluice',
    agentDir: '/var/lib/sluice-agent',
    services: { server: start('server'), agent: start('agent') }
  }
}

/** Returns a command that shows and follows the log of a service since its last start. */
const journalOf = (role: string): string =>
  `exec journalctl --follow --lines=all --output=cat \
   "_SYSTEMD_INVOCATION_ID=$(systemctl show --value --property=InvocationID sluice-${role})" >&2`

/** Reads the log of a service since its last start. */
export const logOf = (t: Test, machine: Machine, role: string): Daemon =>
  startDaemon(t, machine, ['sh', '-c', journalOf(role)], {})
