// Files that the packages of distributions install beside the program: units, users and configuration.
// Both formats, .deb and .rpm, have the same three packages: `sluice` is the program, and the others run it as a service.
import { chmodSync, cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { formatUnit, type Role } from '../../plugins/service/unit.ts'
import { author, root, version } from './run.ts'
import type { Target } from './targets.ts'
import { writeTree } from './tree.ts'
import { writeSharedFiles, type ZshFolder } from './write-shared-files.ts'

/** The revision distinguishes two packages of one version. */
export const revision = process.env['SLUICE_REVISION'] ?? '1'
/** Both formats sort a version with ~ before the one without, like semver with -. */
export const systemVersion = version.replace('-', '~')
/** Maintainer of the packages: a name and an address. */
export const maintainer = process.env['SLUICE_MAINTAINER'] ?? author

export interface Service {
  readonly role: Role
  readonly name: string // of the package, and of the unit without .service
  readonly user: string
  readonly state: string
  readonly config: string
  readonly dirKey: string // the configuration key of the state directory
  readonly summary: string
  readonly description: readonly string[]
}

export const services: readonly Service[] = [
  {
    role: 'server',
    name: 'sluice-server',
    user: 'sluice',
    state: '/var/lib/sluice',
    config: '/etc/sluice/server.toml',
    dirKey: 'data_dir',
    summary: 'control plane for TCP and UDP port forwarding (server)',
    description: [
      'Runs the server of sluice as a service: the operator API on loopback,',
      'and the control stream for agents. It stores its state in /var/lib/sluice.'
    ]
  },
  {
    role: 'agent',
    name: 'sluice-agent',
    user: 'sluice-agent',
    state: '/var/lib/sluice-agent',
    config: '/etc/sluice/agent.toml',
    dirKey: 'state_dir',
    summary: 'control plane for TCP and UDP port forwarding (agent)',
    description: [
      'Runs the agent of sluice as a service: it forwards ports of this host by',
      'the rules of its server. Enroll it before you start it the first time.'
    ]
  }
]

export const programSummary = 'control plane for TCP and UDP port forwarding (program)'
export const programDescription = [
  'Self-hosted port forwarding for fleets: one server stores the rules, agents',
  'on edge hosts forward traffic. This package has the program and its command',
  'line; sluice-server and sluice-agent run it as services. It includes',
  'Node, below /usr/lib/sluice.'
]

export const home = '/usr/lib/sluice'

/**
 * Writes the program below /usr/lib/sluice, with a link in /usr/bin, manual pages and completion. Distributions differ in
 * the folder of functions for zsh.
 */
export function writeProgram(dir: string, target: Target, zsh: ZshFolder): void {
  mkdirSync(join(dir, home), { recursive: true })
  writeTree(join(dir, home), target)
  mkdirSync(join(dir, 'usr/bin'), { recursive: true })
  symlinkSync(`..${home.slice('/usr'.length)}/bin/sluice`, join(dir, 'usr/bin/sluice'))
  writeSharedFiles(join(dir, 'usr/share'), zsh)
}

/** Writes the unit that `sluice service install` writes, the user, and the configuration with all its comments. */
export function writeService(dir: string, service: Service): void {
  const { role, name, user, state, config, dirKey } = service
  const unit = formatUnit({ role, user, configFile: config, notifies: 'itself' }, [
    `${home}/node/bin/node`,
    `${home}/dist/kernel/bin.js`
  ])
  const defaults = readFileSync(join(root, 'config', `${role}.toml`), 'utf8')
  write(join(dir, 'usr/lib/systemd/system', `${name}.service`), unit)
  write(join(dir, 'usr/lib/sysusers.d', `${name}.conf`), `u ${user} - "sluice ${role}" ${state}\n`)
  // Commands of root use the same directory, but lack the environment that systemd gives the service.
  write(join(dir, config), defaults.replace(`# ${dirKey} = "${state}"`, `${dirKey} = "${state}"`))
  cpSync(join(root, 'LICENSE'), join(dir, 'usr/share/doc', name, 'LICENSE'))
}

export function write(file: string, text: string, mode = 0o644): void {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
  chmodSync(file, mode)
}
