import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { Fault, wrongUsage } from '../../kernel/base/errors.ts'
import { Type } from '../../kernel/cli/args.ts'
import { defineCommand } from '../../kernel/cli/command.ts'
import { isHidden, type Role, unitOf } from './unit.ts'

const install = defineCommand({
  name: 'service install',
  summary: 'Write a sandboxed systemd unit for server or agent.',
  args: Type.Object({
    role: Type.Union([Type.Literal('server'), Type.Literal('agent')], { description: 'server or agent' }),
    user: Type.Optional(
      Type.String({ description: 'System user of the service; default: one that systemd allocates.' })
    ),
    config_file: Type.Optional(Type.String({ description: 'TOML configuration, passed as --config.' })),
    unit_dir: Type.Optional(
      Type.String({ description: 'Directory of the unit; default: /etc/systemd/system.' })
    ),
    print: Type.Optional(Type.Boolean({ description: 'Print the unit and write nothing.' }))
  }),
  positional: ['role'],
  needs: 'nothing',
  async run({ args, print }) {
    const { role, user = null, config_file: config, unit_dir: dir = '/etc/systemd/system' } = args
    const unit = unitOf(
      { role, user, configFile: config === undefined ? null : resolve(config) },
      process.argv
    )
    if (args.print === true) return print.line(unit.trimEnd())
    if (isHidden(process.argv[1] ?? ''))
      throw new Fault(
        wrongUsage,
        `the unit cannot see ${process.argv[1]} (ProtectHome); install sluice for all users, as with npm install -g`
      )
    const file = join(dir, `sluice-${role}.service`)
    write(file, unit)
    print.data({ unit: file })
    for (const step of steps(role)) print.line(step)
  }
})

export const commands = [install]

function write(file: string, unit: string): void {
  try {
    writeFileSync(file, unit, { mode: 0o644 })
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new Fault(wrongUsage, `${file} cannot be written: ${why}; run it as root, or use --print`, {
      cause
    })
  }
}

const steps = (role: Role): string[] => [
  ...(role === 'agent'
    ? ["Enroll it first: sluice agent enroll '<uri>' --state-dir /var/lib/sluice-agent"]
    : []),
  `Then: systemctl daemon-reload && systemctl enable --now sluice-${role}`
]
