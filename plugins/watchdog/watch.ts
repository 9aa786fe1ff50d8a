// Runs in a worker: when the main thread has not moved for some seconds, it looks over its shoulder, and says whose
// code is running there.
import { writeSync } from 'node:fs'
import inspector, { type Debugger } from 'node:inspector'
import { workerData } from 'node:worker_threads'
import { timestamp } from '../../kernel/base/clock.ts'
import { isOurs, ownerOfScript, type Whom } from './owner.ts'

export interface Watched {
  readonly whom: Whom
  /** Counts up while the main thread lives. */
  readonly beats: SharedArrayBuffer
  readonly patienceMs: number
}

const { whom, beats, patienceMs } = workerData as Watched // from plugin.ts
const standardError = 2 // a worker's process.stderr goes through the main thread
const count = new Int32Array(beats)
let last = -1
let movedAt = Date.now()
let isTold = false

setInterval(() => {
  const now = Atomics.load(count, 0)
  if (now !== last) {
    if (isTold) say(`${whom}.moves_again`, `the ${whom} goes on`, { stalled_ms: Date.now() - movedAt })
    last = now
    movedAt = Date.now()
    isTold = false
  } else if (!isTold && Date.now() - movedAt >= patienceMs) {
    isTold = true
    look()
  }
}, patienceMs / 5)

/** Stops the main thread for an instant, to read its stack. */
function look(): void {
  const session = new inspector.Session()
  session.connectToMainThread()
  const urls = new Map<string, string>()
  session.on('Debugger.scriptParsed', ({ params }) => urls.set(params.scriptId, params.url))
  session.once('Debugger.paused', ({ params }) => {
    session.post('Debugger.resume', () => session.disconnect()) // first of all: nothing may hold it longer
    tell(params.callFrames, ({ location }) => urls.get(location.scriptId) ?? '')
  })
  session.post('Debugger.enable')
  session.post('Debugger.pause')
}

function tell(frames: readonly Debugger.CallFrame[], urlOf: (frame: Debugger.CallFrame) => string): void {
  const culprit = frames.find(frame => isOurs(urlOf(frame)))
  const script = culprit ? urlOf(culprit) : ''
  const plugin = ownerOfScript(script, whom)
  const still = whom === 'server' ? 'agents forward on' : 'the native engine forwards on'
  say(`${whom}.stalled`, `${plugin} has held the ${whom} up for ${patienceMs / 1000} s; ${still}`, {
    plugin,
    script,
    function: culprit?.functionName ?? '',
    line: (culprit?.location.lineNumber ?? -1) + 1
  })
}

/** The main thread's log cannot write now. */
function say(event: string, msg: string, fields: object): void {
  const line = { level: 'error', timestamp: timestamp(Date.now()), event, msg, ...fields }
  writeSync(standardError, `${JSON.stringify(line)}\n`)
}
