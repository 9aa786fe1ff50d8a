import { type Clock, systemClock } from './base/clock.ts'
import { throwProblems } from './base/config.ts'
import { Fault, reasonOf, startupInvalid } from './base/errors.ts'
import type { Log } from './base/log.ts'
import { pluginRelease, startPlugin } from './base/plugin-lifecycle.ts'
import { type Release, Releases } from './base/releases.ts'
import { openContainers } from './container.ts'
import { type ControlHost, controlSlot } from './control/host.ts'
import { inDependencyOrder } from './dependency-order.ts'
import { type HttpHost, hostSlot } from './http/host.ts'
import { openIdentity } from './identity/identity.ts'
import { metricsSlot } from './metrics.ts'
import type { Kernel, Plugin } from './plugin.ts'
import { kernelSlots, pluginProblems } from './plugin-problems.ts'
import { type GivenConfig, validateSettings } from './settings.ts'
import { type Filled, type Slot, type SlotReader, slotReader } from './slot.ts'
import { openDataDir } from './store/data-dir.ts'
import { kernelStore } from './store/kernel-store.ts'
import { recordVersion } from './store/newest-version.ts'
import { type Database, openStore } from './store/open.ts'
import { readPlace } from './store/sql/database.ts'
import { openCodec } from './wire/codec.ts'
import { wireMessages } from './wire/envelope.ts'
import { bindHandlers } from './wire/message.ts'

export interface ServerOptions extends GivenConfig {
  readonly plugins: readonly Plugin[]
  readonly dataDir: string
  readonly version: string
  readonly log: Log
  readonly clock?: Clock
  readonly clockOf?: (plugin: string) => Clock | undefined // for one plugin; default: `clock`
  readonly openStore?: typeof openStore // default: the kernel's
  readonly wrapStore?: (opened: Database) => Database // for all plugins
}

interface WireOptions extends ServerOptions {
  readonly isShared?: true // peer servers may use the store at the same time
}

export interface Wiring {
  readonly plugins: readonly Plugin[]
  readonly depsOf: (plugin: string) => Kernel
  readonly http: HttpHost
  readonly control: ControlHost
  readonly releases: Releases
}

export interface Server extends Pick<Wiring, 'http' | 'control' | 'depsOf'> {
  readonly origin: string // of the operator API
  stop(): Promise<void>
}

/** Wires, mounts and starts the plugins, then listens. On failure, releases everything that it has acquired. */
export async function boot(options: ServerOptions): Promise<Server> {
  const { plugins, depsOf, http, control, releases } = await wire({ ...options, isShared: true })
  const abort = new AbortController()
  try {
    for (const plugin of plugins) {
      const deps = depsOf(plugin.name)
      const defer = (release: Release) => releases.defer(pluginRelease(plugin.name, release))
      await startPlugin(plugin.name, async () => {
        await http.mount(plugin, deps)
        await plugin.start?.({ deps, defer, signal: abort.signal })
      })
    }
    releases.defer(control.close)
    await control.listen()
    releases.defer(http.close)
    const { origin } = await http.listen()
    releases.defer(control.leave) // while the API still serves
    releases.defer(() => abort.abort())
    warnOfWeakToken(options)
    const listening = { origin, control_port: control.port(), server_cert_sha256: control.fingerprint }
    options.log.info('server.started', `sluice ${options.version} serves ${origin}`, listening)
    return { http, control, depsOf, origin, stop: () => releases.run() }
  } catch (error) {
    abort.abort()
    await releases.run().catch(logReleaseFailure(options.log))
    throw error
  }
}

/** Logs a failed release, so that it does not hide the error that ended the server. */
export const logReleaseFailure =
  (log: Log) =>
  (failures: unknown): void =>
    log.error('server.not_released', reasonOf(failures))

function warnOfWeakToken({ keys: { operator_token: token }, log }: ServerOptions): void {
  if (typeof token === 'string' && token.length < 32)
    log.warn(
      'startup.weak_operator_token',
      'operator_token is shorter than 32 characters; create one with: sluice gen-token'
    )
}

/** Checks, orders and configures the plugins, and opens the store and all services. Starts nothing. */
export async function wire({ clock = systemClock, log, dataDir, ...options }: WireOptions): Promise<Wiring> {
  throwProblems(pluginProblems(options.plugins))
  const plugins = inDependencyOrder(options.plugins)
  let depsOf: Wiring['depsOf'] = refuseUnwired
  const readerFor = (owner: string): SlotReader => slotReader(owner, plugins, name => depsOf(name))
  const filled = readerFor('kernel')
  const { value: openControl } = onlyValueOf(controlSlot, filled)
  const { server, configOf } = validateSettings(plugins, options)
  const codec = openCodec([...wireMessages, ...plugins.flatMap(({ messages }) => messages ?? [])])
  const releases = new Releases()
  try {
    const place = readPlace(server, openDataDir(dataDir, releases.defer), options.isShared)
    const opened = await (options.openStore ?? openStore)(place, [kernelStore, ...plugins])
    releases.defer(opened.close)
    const store = options.wrapStore?.(opened) ?? opened
    await recordVersion(store, options.version)
    const identity = openIdentity({ store, clock, operatorToken: server.operator_token ?? null })
    const control = await openControl({
      configOf,
      dataDir,
      version: options.version,
      store,
      clock,
      log,
      codec,
      filled,
      handlers: (peer, message) =>
        plugins.flatMap(({ name, handlers = [] }) => {
          const found = handlers.filter(handler => handler.name === message)
          return bindHandlers(found, () => ({ peer, deps: depsOf(name) }), name)
        }),
      preAuthHandlers: peer =>
        plugins.flatMap(({ name, preAuthHandlers = [] }) =>
          bindHandlers(preAuthHandlers, () => ({ peer, deps: depsOf(name) }), name)
        )
    })
    depsOf = openContainers(plugins, plugin => ({
      config: configOf(plugin.name),
      log,
      clock: options.clockOf?.(plugin.name) ?? clock,
      store,
      identity,
      control,
      codec,
      dataDir,
      filled: readerFor(plugin.name),
      document: () => http.document(),
      metrics: () => filled(metricsSlot)
    }))
    const { value: openHost } = onlyValueOf(hostSlot, filled)
    const http = await openHost({ store, identity, clock, log, filled, version: options.version })
    // Create the values now, so that a failing one stops the startup instead of a request.
    for (const slot of kernelSlots) filled(slot)
    for (const { name, slots = [] } of plugins) for (const slot of slots) depsOf(name).filled(slot)
    return { plugins, depsOf, http, control, releases }
  } catch (error) {
    await releases.run()
    throw error
  }
}

function refuseUnwired(name: string): never {
  throw new TypeError(`${name} is not wired yet: values of fillWith are available once start() runs`)
}

/** Returns the only value of a slot. Throws if no plugin fills it, or several do. */
function onlyValueOf<T>(slot: Slot<T>, filled: SlotReader): Filled<T> {
  const [one, other] = filled(slot)
  if (!one) throw new Fault(startupInvalid, `no plugin fills ${slot.id}, and a server needs one; enable it`)
  if (other) throw new Fault(startupInvalid, `${one.by} and ${other.by} both fill ${slot.id}; disable one`)
  return one
}
