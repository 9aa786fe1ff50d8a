// The unit of systemd, which an update of the program does not change.
import { existsSync, realpathSync } from 'node:fs'
import { type DoctorContext, defineCheck } from '../exports.ts'

type Id = 'unit.program' | 'unit.old'

export const unit = defineCheck<Id>({
  name: 'unit',
  of: ['server', 'agent'],
  findings: {
    'unit.program': {
      status: 'fail',
      when: 'the unit starts a program that does not exist any more',
      remedy: 'write it again: sluice service install'
    },
    'unit.old': {
      status: 'warn',
      when: 'the unit of sluice service install is not what this version writes: a sandbox or a limit may be missing',
      remedy:
        'write it again: sluice service install, with the same flags; put changes of your own into a drop-in (systemctl edit)'
    }
  },
  async run({ role, host }) {
    const file = `/etc/systemd/system/sluice-${role}.service`
    const present = host.read(file)
    if (!present?.includes(`\nDescription=sluice ${role}: `))
      return [{ ok: 'service install has written none' }]
    const [, command = ''] = /^ExecStart=(.*)$/m.exec(present) ?? []
    const missing = [...command.matchAll(/"([^"]+)"|(\S+)/g)]
      .map(([, quoted, plain]) => quoted ?? plain ?? '')
      .slice(0, 2) // Node, and the program
      .find(path => path.startsWith('/') && !existsSync(path))
    if (missing !== undefined) return [{ id: 'unit.program', message: `${file}: there is no ${missing}` }]
    const fresh = await written({ role, host })
    if (fresh === null) return [{ ok: `${file}; not compared: the plugin service is off` }]
    return bare(present) === bare(fresh)
      ? [{ ok: `${file} is that of this version` }]
      : [{ id: 'unit.old', message: `${file} is not what this version writes` }]
  }
})

/** Asks this program: the plugin that writes units may be off. */
const written = ({ role, host }: Pick<DoctorContext, 'role' | 'host'>): Promise<string | null> =>
  host.ask(process.execPath, realpathSync(process.argv[1] ?? ''), 'service', 'install', role, '--print')

/** Leaves out what the flags of `service install` decide, and comments. */
const bare = (unit: string): string =>
  unit
    .split('\n')
    .filter(line => line !== '' && !/^(#|ExecStart=|User=|Group=|DynamicUser=)/.test(line))
    .join('\n')
