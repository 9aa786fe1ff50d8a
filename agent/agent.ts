// The life of an agent: it applies the saved objects, then stays in sync with the server.
import { timestamp } from '../kernel/base/clock.ts'
import { type Release, Releases } from '../kernel/base/releases.ts'
import { type AgentOptions, type Components, openComponents } from './components.ts'
import { openControlSocket } from './local/control-socket.ts'
import type { Question } from './local/protocol.ts'
import { statusCommand } from './local/status-command.ts'
import type { AgentPhase } from './plugin.ts'
import { type ConfiguredPlugins, PluginSet } from './plugins/plugin-set.ts'
import { openReload, type Reloadable } from './reload.ts'
import { type Bundle, markRevoked } from './stream/bundle.ts'
import { openHello } from './stream/hello.ts'
import { ServerConnection, type ServerConnectionOptions } from './stream/server-connection.ts'
import { aborted } from './stream/wait.ts'

export interface Signals {
  /** Stops the agent in order: connections drain, the last counts are reported. */
  readonly stop: AbortSignal
  /** Ends an orderly stop at once. */
  readonly cut: AbortSignal
  /** Calls the listener to reload the configuration. */
  readonly onReload?: (listener: () => void) => void
}

export interface RunOptions extends AgentOptions, ConfiguredPlugins {
  /** Reads the configuration again. Throws Fault if it is invalid. Default: no change. */
  readonly reread?: () => Promise<Reloadable>
}

/** 'revoked': the server has revoked the agent's token, and all rules are closed. */
export type Outcome = 'stopped' | 'revoked'

const sampleMs = 1000
const lastReportMs = 3000

/** Runs an agent until it is stopped or revoked. Rejects if a component or a plugin cannot start. */
export async function runAgent(options: RunOptions, { stop, cut, onReload }: Signals): Promise<Outcome> {
  const { log, reread = async () => options } = options
  const plugins = new PluginSet(options, log)
  const releases = new Releases()
  const disconnect = new AbortController()
  try {
    const components = openComponents(options, plugins, releases.defer)
    const { call, objects } = components
    releases.defer(() => plugins.stop())
    await plugins.start(call)
    await objects.restore()
    releases.defer(options.clock.every(sampleMs, call.takeSample))

    const endpoint = (): string => connection.status().endpoint
    const connection = new ServerConnection(
      connectionOptions({ options, plugins, components, endpoint }),
      disconnect.signal
    )
    releases.defer(await openLocal({ options, plugins, components, connection }))
    const connected = connection.run()
    let isStopping = false
    const enter = (phase: AgentPhase): void => {
      if (isStopping) return // a reload ends later
      isStopping = phase === 'stopping'
      for (const plugin of plugins.all) plugin.lifecycle?.(phase, call)
    }
    const reload = openReload({ reread, plugins, components, connection, enter, log })
    onReload?.(() => {
      if (!isStopping) void reload()
    })
    enter('up')
    const revoked = await Promise.race([connected, aborted(stop)])
    enter('stopping')
    if (revoked) await closeRevoked(options, components, revoked)
    else await stopInOrder(options, plugins, components, cut)
    disconnect.abort()
    await connected
    return revoked ? 'revoked' : 'stopped'
  } finally {
    disconnect.abort()
    await releases.run()
  }
}

interface Running {
  readonly options: AgentOptions
  readonly plugins: PluginSet
  readonly components: Components
  readonly connection: ServerConnection
}

/** Opens the socket for the command line: `status`, and the commands of the current plugins. */
function openLocal({ options, plugins, components, connection }: Running): Promise<Release> {
  const { stateDir, clock, log } = options
  const { call } = components
  const status = statusCommand({ options, components, connection, plugins: () => plugins.all })
  const commands = plugins.derived(all => [
    status,
    ...all.flatMap(({ commands = [] }) =>
      commands.map(({ run, ...command }) => ({
        ...command,
        run: (args: Question['args']) => run({ args: { ...args }, call })
      }))
    )
  ])
  return openControlSocket({ stateDir, commands, clock, log })
}

interface ConnectionParts extends Pick<Running, 'options' | 'plugins' | 'components'> {
  readonly endpoint: () => string // of the current session
}

/** Codec and handlers are read for each stream, since plugins can change. */
function connectionOptions({
  options,
  plugins,
  components,
  endpoint
}: ConnectionParts): ServerConnectionOptions {
  const { version, bundleFile, clock, log, random } = options
  const { codec, objects, journal, handlers, call } = components
  const hello = openHello(() => plugins.all, version)
  let helloAtMs = 0
  return {
    bundleFile,
    get codec() {
      return codec()
    },
    get handlers() {
      return handlers()
    },
    hello() {
      helloAtMs = clock.monotonic()
      return hello(objects.digest())
    },
    async welcomed({ generation, kinds, server_time_ms: serverTimeMs }) {
      journal.setServerTime(serverTimeMs, helloAtMs)
      await objects.welcome(generation, kinds)
    },
    connected(channel, { parts }, signal) {
      objects.attach(channel)
      const welcomePart = (key: string) => parts[key]
      const stream = { ...channel, endpoint: endpoint(), welcomePart, signal }
      for (const plugin of plugins.all) plugin.connected?.(stream, call)
    },
    disconnected: () => objects.detach(),
    clock,
    log,
    ...(random && { random })
  }
}

/** Closes listeners, drains connections and reports the last counts. Unreported counts stay in the journal. */
async function stopInOrder(
  { clock, log }: AgentOptions,
  plugins: PluginSet,
  { objects, rules, call }: Components,
  cut: AbortSignal
): Promise<void> {
  log.info('agent.stopping', 'listeners close, connections drain')
  objects.close()
  await Promise.race([rules.closeAll('drain'), aborted(cut)])
  if (cut.aborted) return
  call.takeSample()
  const late = Promise.withResolvers<void>()
  const cancel = clock.after(lastReportMs, late.resolve)
  const reported = Promise.allSettled(plugins.all.map(plugin => plugin.stopping?.(call)))
  await Promise.race([reported, late.promise, aborted(cut)])
  cancel()
}

/** Cuts all rules and marks the bundle. The journal stays, and is reported after a new enrollment. */
async function closeRevoked(
  { bundleFile, clock, log }: AgentOptions,
  { objects, rules }: Components,
  { token }: Bundle
): Promise<void> {
  log.error('auth.failure', 'the server has revoked this agent; run sluice agent enroll to admit it again', {
    reason: 'token_revoked'
  })
  await objects.clear()
  await rules.closeAll('cut')
  markRevoked(bundleFile, token, timestamp(clock.now()))
}
