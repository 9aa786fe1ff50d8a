import { Type, Yes } from '../../kernel/cli/args.ts'
import { defineCommand } from '../../kernel/cli/command.ts'
import { pathArgument } from '../../kernel/platform/path-problem.ts'
import { join } from './join.ts'
import { lowPorts, requireStartable } from './preconditions.ts'
import { remainingPaths, removeUnit, requireOwnUnit } from './uninstall.ts'
import type { Role, Unit } from './unit.ts'
import {
  ownNotifies,
  presentConfig,
  programPath,
  unit_dir,
  unitFile,
  unitText,
  writeUnit
} from './unit-file.ts'

const role = Type.Union([Type.Literal('server'), Type.Literal('agent')], { description: 'server or agent.' })
const install = defineCommand({
  name: 'service install',
  summary: 'Write a sandboxed systemd unit for server or agent.',
  args: Type.Object({
    role,
    user: Type.Optional(
      Type.String({ description: 'System user of the service; default: systemd allocates one.' })
    ),
    config_file: Type.Optional(
      Type.String({
        description:
          'TOML configuration, passed as --config; default: /etc/sluice/server.toml or agent.toml, if it exists.'
      })
    ),
    unit_dir,
    print: Type.Optional(Type.Boolean({ description: 'Print the unit and write nothing.' }))
  }),
  positional: ['role'],
  needs: 'nothing',
  async run({ args, print }) {
    const { role, user = null, config_file: config = presentConfig(args.role), unit_dir: dir } = args
    const unit: Unit = {
      role,
      user,
      configFile: config === undefined ? null : pathArgument('--config-file', config),
      notifies: ownNotifies()
    }
    if (args.print === true) return print.text(unitText(unit).trimEnd())
    requireStartable(unit, programPath())
    const file = unitFile(role, dir)
    writeUnit(file, unit)
    print.data({ unit: file, config: unit.configFile })
    for (const step of steps(unit)) print.note(step)
  }
})

const uninstall = defineCommand({
  name: 'service uninstall',
  summary: 'Stop the service of server or agent, and remove its unit; data and configuration stay.',
  args: Type.Object({ role, unit_dir, yes: Yes }),
  positional: ['role'],
  needs: 'nothing',
  async run({ args: { role, unit_dir: dir }, confirm, print }) {
    const file = unitFile(role, dir)
    requireOwnUnit(file, role)
    await confirm(`Stop sluice-${role} and remove ${file}?`, { losses: async () => losses[role] })
    const { isStopped } = removeUnit(file)
    print.done(`removed ${file}${isStopped ? ', and stopped the service' : ''}`, {
      unit: file,
      stopped: isStopped,
      kept: remainingPaths(role)
    })
    print.note(`Kept: ${remainingPaths(role).join(', ')}`)
  }
})

const losses: Readonly<Record<Role, readonly string[]>> = {
  server: ['the operator API; agents keep forwarding'],
  agent: ['forwarding on this host, with its live connections']
}

export const commands = [install, uninstall, join]

function steps({ role, configFile }: Unit): string[] {
  const ports = lowPorts(role, configFile)
  return [
    ...(ports.length > 0 ? [`The unit grants CAP_NET_BIND_SERVICE, for ${ports.join(', ')}.`] : []),
    ...(role === 'agent'
      ? ["Enroll it first: sluice agent enroll '<uri>' --state-dir /var/lib/sluice-agent"]
      : []),
    `Then: systemctl daemon-reload && systemctl enable --now sluice-${role}`
  ]
}
