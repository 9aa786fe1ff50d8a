// Starts a server with the plugin, and does everything that the server would do at its first requests.
import { rmSync } from 'node:fs'
import type { AgentPlugin } from '../../agent/plugin.ts'
import { index } from '../../config/command-index.ts'
import { reasonOf } from '../../kernel/base/errors.ts'
import { boot, type Server } from '../../kernel/kernel.ts'
import { ownVersion } from '../../kernel/platform/version.ts'
import type { Plugin } from '../../kernel/plugin.ts'
import { kernelCodes } from '../../kernel/plugin-problems.ts'
import type { Filled } from '../../kernel/slot.ts'
import { derivedFieldSlot, isSent, ruleFieldSlot, targetFieldSlot } from '../../plugins/rules/exports.ts'
import { type LogLine, recordLog } from '../record-log.ts'
import { openRepeatedChanges, type RepeatedChanges } from '../repeated-changes.ts'
import { scratchFor } from '../scratch.ts'
import { operatorToken } from '../test-identities.ts'
import { fieldProblems, targetPart } from './agent-half.ts'
import { withAgent } from './agent-run.ts'
import { consoleProblems } from './console-modules.ts'
import { noFields, type PluginFields, tryFields } from './fields.ts'
import { routeProblems } from './routes.ts'
import { schemaProblems } from './schema.ts'
import { keysOf, type Others, type Settings } from './settings.ts'
import { trySignIn } from './sign-in.ts'
import { type Made, recordFills, valueProblems } from './slots.ts'
import { type Trial, tryRoutes, undeclaredErrors } from './trial.ts'

export interface CheckedPlugin {
  readonly dir: string
  readonly plugin: Plugin
  readonly agent: AgentPlugin | null
  readonly others: Others
  readonly settings: Settings
}

/** Starts a server with the plugin twice, without it, and with it again, on one store. Ends at the first problem. */
export async function tryStarts(checked: CheckedPlugin): Promise<Trial> {
  const dataDir = scratchFor(checked.dir, '.conformance-')
  const { plugin, others, settings } = checked
  const external = others.servers.filter(({ name }) => !index.plugins.includes(name))
  const made: Made[] = []
  const start = (present: readonly Plugin[]) => (log: LogLine[], wrapStore?: RepeatedChanges['wrapStore']) =>
    boot({
      plugins: recordFills([...others.servers, ...present], made),
      keys: { ...keysOf([...external, ...present], settings), ...ownKeys },
      sections: { ...others.sections, ...(present.length > 0 && { [plugin.name]: settings.section }) },
      dataDir,
      version: ownVersion(),
      log: recordLog(log),
      ...(wrapStore && { wrapStore })
    })
  try {
    const first = await tryFirst(checked, made, start([plugin]))
    if (first.problems.length > 0)
      return { ...first, problems: first.problems.map(problem => withRemedy(problem, others.servers)) }
    const later = { 'its second start': [plugin], 'a start without it': [], 'its return': [plugin] }
    for (const [when, present] of Object.entries(later)) {
      const problems = await during(
        when,
        () => start(present)([]),
        async () => []
      )
      if (problems.length > 0) return { problems, notes: first.notes }
    }
    return first
  } finally {
    rmSync(dataDir, { recursive: true, force: true })
  }
}

const ownKeys = {
  operator_http_listen: '127.0.0.1:0',
  control_listen: '127.0.0.1:0',
  metrics_listen: '127.0.0.1:0',
  operator_token: operatorToken
}

/** Runs each change of the first start and of the called routes twice. */
async function tryFirst(
  checked: CheckedPlugin,
  made: readonly Made[],
  start: (log: LogLine[], wrapStore: RepeatedChanges['wrapStore']) => Promise<Server>
): Promise<Trial> {
  const log: LogLine[] = []
  const notes: string[] = []
  const repeated = openRepeatedChanges()
  try {
    const open = () => start(log, repeated.wrapStore)
    const problems = await during('its first start', open, async server => {
      const found = [
        ...(await schemaProblems(server, checked.plugin)),
        ...wiredProblems(server, checked, made)
      ]
      if (found.length > 0) return found
      const around = { server, token: operatorToken, log }
      const fields = fieldsOf(server, checked.plugin)
      const trials = [
        await withAgent(checked.agent, around, undefined, () => tryFields(fields, around)),
        await tryRoutes(checked.plugin, around),
        await trySignIn(around)
      ]
      notes.push(...trials.flatMap(trial => trial.notes))
      return [...trials.flatMap(trial => trial.problems), ...undeclaredErrors(log)]
    })
    return { problems: [...problems, ...repeated.problems()], notes }
  } finally {
    repeated.close()
  }
}

function wiredProblems(
  server: Server,
  { plugin, agent, others }: CheckedPlugin,
  made: readonly Made[]
): string[] {
  const all = [...others.servers, plugin]
  const codes = new Set([...kernelCodes, ...all.flatMap(({ codes = [] }) => codes)].map(({ code }) => code))
  const derived = ownOf(server.depsOf('rules').filled(derivedFieldSlot), plugin)
  const { ofRules, ofTargets } = fieldsOf(server, plugin)
  return [
    ...valueProblems(server, plugin, made),
    ...consoleProblems(plugin.name, made),
    ...fieldProblems([...ofRules.filter(isSent), ...ofTargets.map(targetPart), ...derived], agent),
    ...routeProblems(plugin, server.depsOf(plugin.name), codes)
  ]
}

/** Names the plugin that owns a missing service. */
function withRemedy(problem: string, plugins: readonly Plugin[]): string {
  const [, service = ''] = /Could not resolve '(\w+)'/.exec(problem) ?? []
  const owner = plugins.find(({ exports }) => service in (exports ?? {}))
  return owner ? `${problem}; add '${owner.name}': '^${owner.version}' to \`needs\`` : problem
}

const ownOf = <T>(filled: readonly Filled<T>[], { name }: Plugin): T[] =>
  filled.filter(({ by }) => by === name).map(({ value }) => value)

function fieldsOf({ depsOf }: Server, plugin: Plugin): PluginFields {
  const { filled } = depsOf('rules')
  return {
    ofRules: ownOf(filled(ruleFieldSlot), plugin),
    ofTargets: ownOf(filled(targetFieldSlot), plugin)
  }
}

async function during(
  when: string,
  open: () => Promise<Server>,
  work: (server: Server) => Promise<readonly string[]>
): Promise<string[]> {
  const problems: string[] = []
  let place = when
  try {
    const server = await open()
    try {
      problems.push(...(await work(server)))
      place = `the stop after ${when}`
    } finally {
      await server.stop()
    }
  } catch (error) {
    problems.push(`${place}: ${reasonOf(error)}`)
  }
  return problems
}

interface CheckedHalf extends Pick<CheckedPlugin, 'dir' | 'others' | 'settings'> {
  readonly agent: AgentPlugin
}

/** Runs an agent half that has no server half, with a server that has the other plugins. */
export async function tryAgentHalf({ dir, agent, others, settings }: CheckedHalf): Promise<Trial> {
  const dataDir = scratchFor(dir, '.conformance-')
  const log: LogLine[] = []
  const notes: string[] = []
  const external = others.servers.filter(({ name }) => !index.plugins.includes(name))
  const open = () =>
    boot({
      plugins: others.servers,
      keys: { ...keysOf(external, settings), ...ownKeys },
      sections: others.sections,
      dataDir,
      version: ownVersion(),
      log: recordLog(log)
    })
  try {
    const problems = await during('a start', open, async server => {
      const around = { server, token: operatorToken, log }
      const trial = await withAgent(agent, around, settings.section, () => tryFields(noFields, around))
      notes.push(...trial.notes)
      return trial.problems
    })
    return { problems, notes }
  } finally {
    rmSync(dataDir, { recursive: true, force: true })
  }
}
