// `agent join`: from an enrollment URI to a running service, in one command.
import { join as joinPath } from 'node:path'
import type { AgentStart } from '../../agent/main.ts'
import { Fault, reasonOf, wrongUsage } from '../../kernel/base/errors.ts'
import { Type } from '../../kernel/cli/args.ts'
import { defineCommand } from '../../kernel/cli/command.ts'
import { pathArgument } from '../../kernel/platform/path-problem.ts'
import { ownVersion } from '../../kernel/platform/version.ts'
import { requireStartable } from './preconditions.ts'
import { isSystemdRunning, loadedUnitFile, systemctl } from './systemctl.ts'
import type { Unit } from './unit.ts'
import {
  mayWrite,
  ownNotifies,
  presentConfig,
  programPath,
  unit_dir,
  unitFile,
  writeUnit
} from './unit-file.ts'

const serviceDir = '/var/lib/sluice-agent'
const service = 'sluice-agent.service'

export const join = defineCommand({
  name: 'agent join',
  summary: 'Enroll this machine; with --service also install the agent as a service, and start it.',
  examples: ["sluice agent join 'svc://...' --service"],
  args: Type.Object({
    uri: Type.Optional(
      Type.String({ description: 'svc://..., or - to read it from standard input; default: SVC_ENROLL_URI.' })
    ),
    service: Type.Optional(
      Type.Boolean({ description: 'Install the systemd unit, enable it and start it. Needs root.' })
    ),
    user: Type.Optional(
      Type.String({ description: 'System user of the service; default: systemd allocates one.' })
    ),
    config: Type.Optional(
      Type.String({
        description:
          'TOML configuration of the agent; with --service the default is /etc/sluice/agent.toml, if it exists.'
      })
    ),
    unit_dir
  }),
  positional: ['uri'],
  needs: 'nothing',
  async run({ args, env, input, print, signal }) {
    const { readUri } = await import('../../agent/stream/read-uri.ts')
    const isService = args.service === true
    const config = args.config ?? (isService ? presentConfig('agent') : undefined)
    const configFile = config === undefined ? null : pathArgument('--config', config)
    const plan = isService ? planService(args, configFile) : null
    const uri = await readUri(args.uri, { env, input })
    const start = {
      file: configFile,
      env: isService ? { ...env, STATE_DIRECTORY: serviceDir } : env, // as systemd sets it for the service
      stateDir: undefined,
      bundleFile: undefined,
      version: ownVersion()
    }
    const { name, isNew, ...shown } = await enroll(start, uri, signal)
    if (plan === null) {
      print.data({ ...shown, client_name: name })
      print.note(`Next step: sluice agent run${configFile === null ? '' : ` --config '${configFile}'`}`)
      return
    }
    startService(plan, { name, isNew })
    print.data({ ...shown, client_name: name, unit: plan.file })
    print.note(`The agent runs as a service: systemctl status ${service}`)
  }
})

interface Plan {
  readonly unit: Unit
  readonly file: string
  readonly isWritten: boolean // false: a package has installed it
  readonly hasSystemd: boolean
}

/** Judges before the code is redeemed whether the service can be installed. Throws Fault; changes nothing. */
function planService(
  { user, unit_dir: dir }: { readonly user?: string; readonly unit_dir?: string },
  configFile: string | null
): Plan {
  const unit: Unit = { role: 'agent', user: user ?? null, configFile, notifies: ownNotifies() }
  const own = unitFile('agent', dir)
  if (!mayWrite(own))
    throw new Fault(
      wrongUsage,
      'the service cannot be installed without root: run the same command with sudo. Nothing is changed. ' +
        'To run the agent as this user: sluice agent join without --service, then sluice agent run'
    )
  requireStartable(unit, programPath())
  const file = loadedUnitFile(service) ?? own
  return { unit, file, isWritten: file === own, hasSystemd: isSystemdRunning() }
}

/** `isNew`: the agent has another token than before, so a running one must restart. */
async function enroll(start: AgentStart, uri: string, signal: AbortSignal) {
  const { enrollAgent } = await import('../../agent/main.ts')
  const { readAgentConfig } = await import('../../agent/config.ts')
  const { readBundle } = await import('../../agent/stream/bundle.ts')
  const before = readBundle(joinPath(readAgentConfig(start).state_dir, 'bundle.json'))
  const { client_id, client_name: name, server_endpoint, token } = await enrollAgent(start, uri, signal)
  return { name, isNew: before?.token !== token, client_id, server_endpoint }
}

/** Writes the unit and starts it. Throws Fault with the next step: the host is enrolled by now. */
function startService(
  { unit, file, isWritten, hasSystemd }: Plan,
  { name, isNew }: { readonly name: string; readonly isNew: boolean }
): void {
  if (!hasSystemd)
    throw new Fault(
      wrongUsage,
      `the host is enrolled as ${name}, but it does not run systemd. Next step: let its init run ${runCommand(unit)}`
    )
  try {
    if (isWritten) writeUnit(file, unit)
    systemctl('daemon-reload')
    systemctl('enable', service)
    systemctl(isNew ? 'restart' : 'start', service)
  } catch (cause) {
    if (!(cause instanceof Fault)) throw cause
    throw new Fault(
      cause.errorCode,
      `the host is enrolled as ${name}, but its service does not run: ${reasonOf(cause)}. ` +
        `Next step: journalctl -u ${service}, then systemctl enable --now ${service}`,
      { cause }
    )
  }
}

const runCommand = ({ configFile }: Unit): string =>
  `sluice agent run ${configFile === null ? `--state-dir ${serviceDir}` : `--config '${configFile}'`}`
