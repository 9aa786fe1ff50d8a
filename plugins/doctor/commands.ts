import type { ConfigSources } from '../../agent/config.ts'
import { defineCode, Fault, reasonOf } from '../../kernel/base/errors.ts'
import { Type } from '../../kernel/cli/args.ts'
import { type CommandCall, defineCommand } from '../../kernel/cli/command.ts'
import { checks } from './checks.ts'
import { openContext } from './context.ts'
import { checkSlot, type DoctorCheck, type DoctorContext, type Finding, type FindingKind } from './exports.ts'

export const doctorFailed = defineCode('doctor_failed', 500, 1)

export const fills = checks.map(check => checkSlot.fill(check))

type Subject = Pick<DoctorContext, 'role' | 'dir' | 'keys'>

/** Returns null for a file that is not given. */
const subjectOfAgent = async (
  file: string | null,
  stateDir: string | undefined,
  env: ConfigSources['env']
) => {
  const { readAgentConfig } = await import('../../agent/config.ts') // large
  const keys = readAgentConfig({ file, env, stateDir })
  return { role: 'agent', dir: keys.state_dir, keys } as const
}

const doctor = defineCommand({
  name: 'doctor',
  summary: 'Check the host of a server: directory, ports, certificates, clients, limits; the server may run.',
  examples: ['sluice doctor --config /etc/sluice/server.toml'],
  needs: 'data',
  reads: [checkSlot],
  run: ({ dataDir, keys, filled, print }) =>
    examineAll(() => ({ role: 'server', dir: dataDir(), keys: keys() }), { filled, print })
})

const agentDoctor = defineCommand({
  name: 'agent doctor',
  summary: 'Check the host of an agent: enrollment, server, engine, name servers, limits; the agent may run.',
  examples: ['sluice agent doctor --config /etc/sluice/agent.toml'],
  args: Type.Object({
    config: Type.Optional(Type.String({ description: 'TOML configuration of the agent.' })),
    state_dir: Type.Optional(Type.String({ description: 'Directory of rules, journal and bundle.' }))
  }),
  needs: 'nothing',
  reads: [checkSlot],
  run: ({ args, env, filled, print }) =>
    examineAll(() => subjectOfAgent(args.config ?? null, args.state_dir, env), { filled, print })
})

export const commands = [doctor, agentDoctor]

interface Row {
  readonly check: string
  readonly is: 'ok' | FindingKind['status']
  readonly id: string | null
  readonly says: string
  readonly remedy: string | null
}

async function examineAll(
  read: () => Subject | Promise<Subject>,
  { filled, print }: Pick<CommandCall<object>, 'filled' | 'print'>
): Promise<void> {
  const rows = await rowsOf(
    read,
    filled(checkSlot).map(({ value }) => value)
  )
  print.data(rows, ['check', 'is', 'says'])
  for (const { is, id, says, remedy } of rows)
    if (remedy !== null) print.line(`\n${is}, ${id}: ${says}\n  ${remedy}`)
  const failed = rows.filter(row => row.is === 'fail').length
  if (failed > 0) throw new Fault(doctorFailed, `${failed} of ${rows.length} checks failed`)
}

/** Findings that belong to no single check. */
export const common = {
  'config.invalid': {
    status: 'fail',
    when: 'the configuration cannot be read, or has an unknown key or a wrong value',
    remedy: 'correct it; config/server.toml and config/agent.toml list every key'
  },
  'check.failed': {
    status: 'fail',
    when: 'a check cannot be made',
    remedy: 'solve this problem first'
  }
} as const satisfies Record<string, FindingKind>

async function rowsOf(
  read: () => Subject | Promise<Subject>,
  checks: readonly DoctorCheck[]
): Promise<Row[]> {
  let subject: Subject
  try {
    subject = await read()
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    return [rowOf({ name: 'config', findings: common }, { id: 'config.invalid', message: error.message })]
  }
  const { context, close } = openContext(subject)
  try {
    const rows: Row[] = []
    for (const check of checks.filter(({ of }) => of.includes(subject.role)))
      for (const finding of await examine(check, context)) rows.push(rowOf(check, finding))
    return rows
  } finally {
    await close()
  }
}

const examine = (check: DoctorCheck, context: DoctorContext): Promise<readonly Finding[]> =>
  check.run(context).catch(error => [{ id: 'check.failed', message: reasonOf(error) }])

/** Returns a finding as the command prints it. */
function rowOf({ name, findings }: Pick<DoctorCheck, 'name' | 'findings'>, finding: Finding): Row {
  if ('ok' in finding) return { check: name, is: 'ok', id: null, says: finding.ok, remedy: null }
  const kind = { ...common, ...findings }[finding.id]
  if (!kind) throw new TypeError(`the check ${name} does not declare ${finding.id}`)
  const { id, message, remedy = kind.remedy } = finding
  return { check: name, is: kind.status, id, says: message, remedy }
}
