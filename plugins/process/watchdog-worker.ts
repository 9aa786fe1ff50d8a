// The worker thread. If the main thread stalls, the worker pauses it with the inspector, reads its stack, and logs the
// plugin that is running.
import { writeSync } from 'node:fs'
import inspector, { type Debugger } from 'node:inspector'
import { workerData } from 'node:worker_threads'
import { systemClock, timestamp } from '../../kernel/base/clock.ts'
import { isPluginCode, moduleAt, pluginOfScript, type Watched } from './blamed-plugin.ts'

export interface WatchdogData {
  readonly watched: Watched
  /** Incremented while the main thread's event loop runs. */
  readonly beats: SharedArrayBuffer
  readonly patienceMs: number
}

const { watched, beats, patienceMs } = workerData as WatchdogData // from watchdog.ts
const standardError = 2 // a worker's process.stderr goes through the main thread
const count = new Int32Array(beats)
let lastCount = -1
let movedAt = systemClock.monotonic()
let isStallLogged = false

setInterval(() => {
  const now = Atomics.load(count, 0)
  if (now !== lastCount) {
    if (isStallLogged)
      log(`${watched}.moves_again`, `the event loop of the ${watched} is no longer blocked`, {
        stalled_ms: Math.round(systemClock.monotonic() - movedAt)
      })
    lastCount = now
    movedAt = systemClock.monotonic()
    isStallLogged = false
  } else if (!isStallLogged && systemClock.monotonic() - movedAt >= patienceMs) {
    isStallLogged = true
    inspectMainThread()
  }
}, patienceMs / 5)

/** Pauses the main thread briefly. */
function inspectMainThread(): void {
  const session = new inspector.Session()
  session.connectToMainThread()
  const urls = new Map<string, string>()
  session.on('Debugger.scriptParsed', ({ params }) => urls.set(params.scriptId, params.url))
  session.once('Debugger.paused', ({ params }) => {
    session.post('Debugger.resume', () => session.disconnect()) // first, so that the pause stays short
    logStall(params.callFrames, ({ location }) => urls.get(location.scriptId) ?? '')
  })
  session.post('Debugger.enable')
  session.post('Debugger.pause')
}

function logStall(frames: readonly Debugger.CallFrame[], urlOf: (frame: Debugger.CallFrame) => string): void {
  const moduleOf = (frame: Debugger.CallFrame): string => moduleAt(urlOf(frame), lineOf(frame))
  const culprit = frames.find(frame => isPluginCode(moduleOf(frame)))
  const plugin = pluginOfScript(culprit ? moduleOf(culprit) : '', watched)
  const forwarding = watched === 'server' ? 'agents keep forwarding' : 'only a native engine keeps forwarding'
  log(
    `${watched}.stalled`,
    `${plugin} has blocked the ${watched} for ${patienceMs / 1000} s; ${forwarding}`,
    {
      plugin,
      script: culprit ? urlOf(culprit) : '',
      function: culprit?.functionName ?? '',
      line: culprit ? lineOf(culprit) : 0
    }
  )
}

const lineOf = ({ location }: Debugger.CallFrame): number => location.lineNumber + 1

/** Writes directly: the main thread's log is blocked. */
function log(event: string, msg: string, fields: object): void {
  const line = { level: 'error', timestamp: timestamp(systemClock.now()), event, msg, ...fields }
  writeSync(standardError, `${JSON.stringify(line)}\n`)
}
