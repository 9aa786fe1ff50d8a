// From a command line to a running agent: configuration, plugins, bundle, engine.
import { mkdirSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { agentPlugins } from '../config/agent-plugins.ts'
import { importExternal } from '../config/external/import.ts'
import { systemClock } from '../kernel/base/clock.ts'
import { Fault, startupInvalid, tokenRevoked } from '../kernel/base/errors.ts'
import { type Log, openLog } from '../kernel/base/log.ts'
import { loadPlugins } from '../kernel/loader.ts'
import { runAgent, type Signals } from './agent.ts'
import { type AgentConfig, type ConfigSources, readAgentConfig } from './config.ts'
import { logSelection, selectEngine } from './engine-selection.ts'
import { type Bundle, readBundle } from './link/bundle.ts'
import { enroll } from './link/enroll.ts'
import { openHello } from './link/hello.ts'
import type { AgentPlugin } from './plugin.ts'
import { checkPlugins } from './plugins/check.ts'
import { openResolver } from './resolver/resolver.ts'

export interface AgentStart extends ConfigSources {
  readonly bundleFile: string | undefined // default: <state dir>/bundle.json
  readonly version: string
}

interface Setup {
  readonly config: AgentConfig
  readonly bundleFile: string
  readonly plugins: readonly AgentPlugin[]
  readonly version: string
  readonly log: Log
}

/** Makes this machine a client: redeems the code in `uri` and writes the bundle. Throws Fault. */
export async function enrollAgent(start: AgentStart, uri: string, signal: AbortSignal): Promise<Bundle> {
  return enrollHere(await setUp(start), uri, signal)
}

/**
 * Runs the agent until it is stopped. Without a bundle it enrolls first, with `uri`. Throws Fault: for a revoked agent
 * now and at every later start.
 */
export async function startAgent(
  start: AgentStart,
  uri: string | undefined,
  signals: Signals
): Promise<void> {
  const setup = await setUp(start)
  const { bundleFile, log } = setup
  const saved = readBundle(bundleFile)
  if (!saved && uri === undefined)
    throw new Fault(startupInvalid, `there is no bundle ${bundleFile}; run sluice agent enroll first`)
  const bundle = saved ?? (await enrollHere(setup, uri ?? '', signals.stop))
  if (bundle.revoked_at !== undefined) {
    log.error('auth.failure', 'this agent was revoked; to admit it again run sluice agent enroll', {
      reason: 'token_revoked'
    })
    throw revoked()
  }
  const keepAlive = setInterval(() => {}, 2 ** 30) // without rules and a stream nothing else keeps the process running
  try {
    if ((await run(setup, start.env, signals)) === 'revoked') throw revoked()
  } finally {
    clearInterval(keepAlive)
  }
}

async function run(setup: Setup, env: AgentStart['env'], signals: Signals) {
  const { config, plugins, bundleFile, version, log } = setup
  const { bind, guardrails, stateDir, threads } = config
  const clock = systemClock
  const selection = selectEngine(config.engine)
  logSelection(selection, log)
  const tuning = {
    ...(threads !== null && { threads }),
    ...(env['SVC_DISABLE_SPLICE'] === '1' && { splice: 'off' as const })
  }
  return runAgent(
    {
      plugins: await withMetrics(plugins, config),
      openEngine: options => selection.open({ ...options, ...tuning }),
      resolver: openResolver({ clock }),
      bind,
      guardrails,
      stateDir,
      bundleFile,
      version,
      clock,
      log
    },
    signals
  )
}

async function setUp(start: AgentStart): Promise<Setup> {
  const config = readAgentConfig(start)
  const log = await openLog({ level: config.logLevel, format: config.logFormat })
  const bundleFile = start.bundleFile ?? join(config.stateDir, 'bundle.json')
  const { plugins } = await loadPlugins<AgentPlugin>({
    half: 'agent',
    builtin: agentPlugins,
    table: config.plugins,
    baseDir: start.file === null ? process.cwd() : dirname(resolve(start.file)),
    importExternal
  })
  checkPlugins(plugins)
  return { config, bundleFile, plugins, version: start.version, log }
}

/** Loads the metrics listener only where one is configured. */
async function withMetrics(plugins: readonly AgentPlugin[], { metricsListen }: AgentConfig) {
  if (metricsListen === null) return plugins
  const { metricsPlugin } = await import('./observe/metrics-listener.ts')
  return [...plugins, metricsPlugin(metricsListen)]
}

async function enrollHere(setup: Setup, uri: string, signal: AbortSignal): Promise<Bundle> {
  const { bundleFile, plugins, version, log } = setup
  mkdirSync(dirname(bundleFile), { recursive: true, mode: 0o700 })
  const hello = openHello(plugins, version)('')
  const bundle = await enroll({ uri, bundleFile, hello, clock: systemClock, log, signal })
  log.info('agent.enrolled', `enrolled as ${bundle.client_name}`, { client_id: bundle.client_id })
  return bundle
}

const revoked = (): Fault => new Fault(tokenRevoked, 'the server has revoked this agent')
