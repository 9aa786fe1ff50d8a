// From a command line to an agent: configuration, plugins, engine.
import { mkdirSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { agentPlugins } from '../config/agent-plugins.ts'
import { importPlugin } from '../config/import-plugin.ts'
import { systemClock } from '../kernel/base/clock.ts'
import { Fault, startupInvalid, tokenRevoked } from '../kernel/base/errors.ts'
import { type Log, openLog } from '../kernel/base/log.ts'
import { loadPlugins } from '../kernel/loader/load.ts'
import { runAgent, type Signals } from './agent.ts'
import { openHello } from './components.ts'
import { type AgentConfig, type ConfigSources, readAgentConfig } from './config.ts'
import { logSelection, selectEngine } from './engine-selection.ts'
import { type Bundle, readBundle } from './link/bundle.ts'
import { enroll } from './link/enroll.ts'
import type { AgentPlugin } from './plugin.ts'
import { checkPlugins } from './plugins/check.ts'
import { openResolver } from './resolver/resolver.ts'

export interface AgentStart extends ConfigSources {
  readonly bundleFile: string | undefined
  readonly version: string
}

interface Setup {
  readonly config: AgentConfig
  readonly bundleFile: string
  readonly plugins: readonly AgentPlugin[]
  readonly log: Log
}

/** Makes this machine a client; what is printed is not the token. */
export async function enrollAgent(start: AgentStart, uri: string, signal: AbortSignal): Promise<Bundle> {
  return enrollAt(await open(start), start, uri, signal)
}

/** Until it is told to stop. A revoked agent is a Fault, now and at every later start. */
export async function startAgent(
  start: AgentStart,
  uri: string | undefined,
  signals: Signals
): Promise<void> {
  const place = await open(start)
  const { config, bundleFile, plugins, log } = place
  const known = readBundle(bundleFile)
  if (!known && uri === undefined)
    throw new Fault(startupInvalid, `there is no bundle ${bundleFile}; run sluice agent enroll first`)
  const bundle = known ?? (await enrollAt(place, start, uri ?? '', signals.stop))
  if (bundle.revoked_at !== undefined) {
    log.error('auth.failure', 'this agent was revoked; sluice agent enroll lets it in again', {
      reason: 'token_revoked'
    })
    throw revoked()
  }
  const clock = systemClock
  const choice = selectEngine(config.engine)
  logSelection(choice, log)
  const tuning = {
    ...(config.threads !== null && { threads: config.threads }),
    ...(start.env['SVC_DISABLE_SPLICE'] === '1' && { splice: 'off' as const })
  }
  const awake = setInterval(() => {}, 2 ** 30) // an agent without rules has nothing else that keeps it running
  try {
    const outcome = await runAgent(
      {
        plugins: await watched(plugins, config),
        openEngine: options => choice.open({ ...options, ...tuning }),
        resolver: openResolver({ clock }),
        bind: config.bind,
        guardrails: config.guardrails,
        stateDir: config.stateDir,
        bundleFile,
        version: start.version,
        clock,
        log
      },
      signals
    )
    if (outcome === 'revoked') throw revoked()
  } finally {
    clearInterval(awake)
  }
}

async function open(start: AgentStart): Promise<Setup> {
  const config = readAgentConfig(start)
  const log = await openLog({ level: config.logLevel, format: config.logFormat })
  const bundleFile = start.bundleFile ?? join(config.stateDir, 'bundle.json')
  const { plugins } = await loadPlugins<AgentPlugin>({
    half: 'agent',
    builtin: agentPlugins,
    table: config.plugins,
    baseDir: start.file === null ? process.cwd() : dirname(resolve(start.file)),
    importPlugin
  })
  checkPlugins(plugins)
  return { config, bundleFile, plugins, log }
}

/** What nobody scrapes is not even loaded. */
async function watched(plugins: readonly AgentPlugin[], { metricsListen }: AgentConfig) {
  if (metricsListen === null) return plugins
  const { metricsPlugin } = await import('./observe/metrics-listener.ts')
  return [...plugins, metricsPlugin(metricsListen)]
}

async function enrollAt(place: Setup, start: AgentStart, uri: string, signal: AbortSignal): Promise<Bundle> {
  const { bundleFile, plugins, log } = place
  mkdirSync(dirname(bundleFile), { recursive: true, mode: 0o700 })
  const hello = openHello(plugins, start.version)('')
  const bundle = await enroll({ uri, bundleFile, hello, clock: systemClock, log, signal })
  log.info('agent.enrolled', `enrolled as ${bundle.client_name}`, { client_id: bundle.client_id })
  return bundle
}

const revoked = (): Fault => new Fault(tokenRevoked, 'the server has revoked this agent')
