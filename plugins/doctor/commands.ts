import type { ConfigSources } from '../../agent/config.ts'
import { defineCode, Fault, reasonOf } from '../../kernel/base/errors.ts'
import { Type } from '../../kernel/cli/args.ts'
import { type CommandCall, defineCommand } from '../../kernel/cli/command.ts'
import {
  checkSlot,
  type DoctorCheck,
  type DoctorContext,
  type Finding,
  type FindingKind
} from '../cli/check-exports.ts'
import { checks } from './checks.ts'
import { openContext } from './context.ts'

export const doctorFailed = defineCode('doctor_failed', 500, 1)

export const fills = checks.map(check => checkSlot.fill(check))

type Subject = Pick<DoctorContext, 'role' | 'dir' | 'keys'>

const readAgentSubject = async (
  file: string | null,
  stateDir: string | undefined,
  env: ConfigSources['env']
) => {
  const { readAgentConfig } = await import('../../agent/config.ts') // loads slowly
  const keys = readAgentConfig({ file, env, stateDir })
  return { role: 'agent', dir: keys.state_dir, keys } as const
}

const doctor = defineCommand({
  name: 'doctor',
  summary:
    'Check the host of a server: directory, ports, certificates, clients, limits. The server can stay running.',
  examples: ['sluice doctor --config /etc/sluice/server.toml'],
  needs: 'data',
  reads: [checkSlot],
  run: ({ dataDir, keys, filled, print }) =>
    printChecks(() => ({ role: 'server', dir: dataDir(), keys: keys() }), { filled, print })
})

const agentDoctor = defineCommand({
  name: 'agent doctor',
  summary:
    'Check the host of an agent: enrollment, server, engine, name servers, limits. The agent can stay running.',
  examples: ['sluice agent doctor --config /etc/sluice/agent.toml'],
  args: Type.Object({
    config: Type.Optional(Type.String({ description: 'TOML configuration of the agent.' })),
    state_dir: Type.Optional(
      Type.String({ description: 'Directory of the saved rules, the journal and the bundle.' })
    )
  }),
  needs: 'nothing',
  reads: [checkSlot],
  run: ({ args, env, filled, print }) =>
    printChecks(() => readAgentSubject(args.config ?? null, args.state_dir, env), { filled, print })
})

export const commands = [doctor, agentDoctor]

interface Row {
  readonly check: string
  readonly status: 'ok' | FindingKind['status']
  readonly id: string | null
  readonly message: string
  readonly remedy: string | null
}

async function printChecks(
  read: () => Subject | Promise<Subject>,
  { filled, print }: Pick<CommandCall<object>, 'filled' | 'print'>
): Promise<void> {
  const rows = await runChecks(
    read,
    filled(checkSlot).map(({ value }) => value)
  )
  const remedies = rows.flatMap(({ status, id, message, remedy }) =>
    remedy === null ? [] : [`\n${status}, ${id}: ${message}\n  ${remedy}`]
  )
  print.data(rows, ['check', 'status', 'message'], remedies.join('\n') || undefined)
  const failed = rows.filter(row => row.status === 'fail').length
  if (failed > 0) throw new Fault(doctorFailed, `${failed} of ${rows.length} checks failed`)
}

/** Findings that no single check declares. */
export const commonFindings = {
  'config.invalid': {
    status: 'fail',
    when: 'the configuration cannot be read, or has an unknown key or an invalid value',
    remedy: 'correct it; config/server.toml and config/agent.toml list every key'
  },
  'check.failed': {
    status: 'fail',
    when: 'a check cannot run',
    remedy: 'solve this problem first'
  }
} as const satisfies Record<string, FindingKind>

async function runChecks(
  read: () => Subject | Promise<Subject>,
  checks: readonly DoctorCheck[]
): Promise<Row[]> {
  let subject: Subject
  try {
    subject = await read()
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    return [
      toRow({ name: 'config', findings: commonFindings }, { id: 'config.invalid', message: error.message })
    ]
  }
  const { context, close } = await openContext(subject)
  try {
    const rows: Row[] = []
    for (const check of checks.filter(({ roles }) => roles.includes(subject.role)))
      for (const finding of await runCheck(check, context)) rows.push(toRow(check, finding))
    return rows
  } finally {
    await close()
  }
}

const runCheck = (check: DoctorCheck, context: DoctorContext): Promise<readonly Finding[]> =>
  check.run(context).catch(error => [{ id: 'check.failed', message: reasonOf(error) }])

function toRow({ name, findings }: Pick<DoctorCheck, 'name' | 'findings'>, finding: Finding): Row {
  if ('ok' in finding) return { check: name, status: 'ok', id: null, message: finding.ok, remedy: null }
  const kind = { ...commonFindings, ...findings }[finding.id]
  if (!kind) throw new TypeError(`the check ${name} does not declare ${finding.id}`)
  const { id, message, remedy = kind.remedy } = finding
  return { check: name, status: kind.status, id, message: message, remedy }
}
