// The systemd unit. An update of the program does not change it.
import { existsSync, realpathSync } from 'node:fs'
import { type DoctorContext, defineCheck } from '../../cli/check-exports.ts'

type FindingId = 'unit.program' | 'unit.old'

export const unit = defineCheck<FindingId>({
  name: 'unit',
  roles: ['server', 'agent'],
  findings: {
    'unit.program': {
      status: 'fail',
      when: 'the unit starts a program that no longer exists',
      remedy: 'write the unit again: sluice service install'
    },
    'unit.old': {
      status: 'warn',
      when: 'the unit of sluice service install differs from the one of this version: a sandbox option or a limit may be missing',
      remedy:
        'run sluice service install again with the same flags; put your own changes into a drop-in (systemctl edit)'
    }
  },
  async run({ role, host }) {
    const file = `/etc/systemd/system/sluice-${role}.service`
    const present = host.read(file)
    if (!present?.includes(`\nDescription=sluice ${role}: `))
      return [{ ok: 'no unit of sluice service install' }]
    const [, command = ''] = /^ExecStart=(.*)$/m.exec(present) ?? []
    const missing = [...command.matchAll(/"([^"]+)"|(\S+)/g)]
      .map(([, quoted, plain]) => quoted ?? plain ?? '')
      .slice(0, 2) // Node and the program
      .find(path => path.startsWith('/') && !existsSync(path))
    if (missing !== undefined) return [{ id: 'unit.program', message: `${file}: there is no ${missing}` }]
    const fresh = await printUnit({ role, host })
    if (fresh === null) return [{ ok: `${file}; not compared, because the plugin service is disabled` }]
    return comparableLines(present) === comparableLines(fresh)
      ? [{ ok: `${file} is up to date` }]
      : [{ id: 'unit.old', message: `${file} differs from the unit of this version` }]
  }
})

/** Runs this program, because the plugin that writes units may be disabled. */
const printUnit = ({ role, host }: Pick<DoctorContext, 'role' | 'host'>): Promise<string | null> =>
  host.ask(process.execPath, realpathSync(process.argv[1] ?? ''), 'service', 'install', role, '--print')

/** Omits comments and the lines that flags of `service install` decide. */
const comparableLines = (unit: string): string =>
  unit
    .split('\n')
    .filter(line => line !== '' && !/^(#|ExecStart=|User=|Group=|DynamicUser=)/.test(line))
    .join('\n')
