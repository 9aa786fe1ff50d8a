// Tests the tarballs for other machines: a byte passes server and agent, on musl and on arm64. The system
// has only Debian's C library and a shell; QEMU runs foreign code.
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { debianPackage } from '../downloads.ts'
import { outDir, run, version } from '../run.ts'
import { type Target, targets } from '../targets.ts'
import { type Machine, runSluice, startDeployment } from './machine.ts'

const own = `linux-${process.arch}`
const qemu = '/usr/bin/qemu-aarch64-static'

/**
 * Enters a folder as a machine with an arm64 processor. Registers QEMU in a separate user namespace, so that the
 * rest of this machine is not affected.
 */
const emulated = `mount --rbind /proc "$0/proc" && mount --rbind /dev "$0/dev" &&
mount -t binfmt_misc none /proc/sys/fs/binfmt_misc &&
printf %s ':arm64:M::\\x7fELF\\x02\\x01\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x02\\x00\\xb7\\x00:\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\x00\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xfe\\xff\\xff\\xff:${qemu}:F' > /proc/sys/fs/binfmt_misc/register &&
exec chroot "$0" "$@"`
const namespace = ['unshare', '--user', '--map-root-user', '--mount', 'sh', '-c']
const prefixOf = ({ arch }: Target, dir: string): string[] =>
  arch === process.arch
    ? [
        ...namespace,
        'mount --rbind /proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot "$0" "$@"',
        dir
      ]
    : [...namespace, emulated, dir]

/** The reason why a machine cannot run here, or false. */
function skipReason({ arch }: Target): string | false {
  if (arch === process.arch) return false
  if (arch === 'x64') return 'only arm64 is emulated'
  if (!existsSync(qemu)) return 'qemu-user-static is not installed'
  const probe = 'mount -t binfmt_misc none /proc/sys/fs/binfmt_misc'
  return spawnSync('unshare', [...namespace.slice(1), probe]).status !== 0 && 'the kernel is older than 6.7'
}

for (const target of targets.filter(({ name }) => name !== own))
  t.test(`${target.name}: a byte goes through`, { skip: skipReason(target) }, async t => {
    const dir = machineFor(t, target)
    const sluice = [`/opt/sluice-${version}-${target.name}/bin/sluice`]
    const machine: Machine = {
      prefix: prefixOf(target, dir),
      sluice,
      serverDir: '/server',
      agentDir: '/agent'
    }
    t.equal(runSluice(machine, ['--version']).trim(), version)

    const deployment = await startDeployment(t, machine)

    t.equal(await deployment.forward(), 'got x')
    t.match(await deployment.agent.until('engine.selected'), { engine: 'native' })
    await deployment.agent.stop()
    await deployment.server.stop()
  })

/** Unpacks the tarball into an otherwise empty system; returns its folder. */
function machineFor(t: Test, { name, libc, debian }: Target): string {
  const dir = t.testdir({ bin: {}, dev: {}, proc: {}, opt: {} })
  if (libc === 'musl') symlinkSync('usr/lib', join(dir, 'lib')) // like Debian 13
  const libraries = libc === 'musl' ? ['musl'] : ['libc6', 'libstdc++6', 'libgcc-s1']
  for (const one of ['busybox-static', ...libraries])
    cpSync(debianPackage(one, debian), dir, { recursive: true, verbatimSymlinks: true })
  for (const program of ['sh', 'readlink']) symlinkSync('busybox', join(dir, 'bin', program))
  run('tar', ['-xzf', join(outDir, `sluice-${version}-${name}.tar.gz`), '-C', join(dir, 'opt')])
  return dir
}
