// The control stream is kept up: when one ends the next is dialled, with the token that the bundle holds by then.
import { type Bundle, hasPending, promoteNextPin, readBundle } from './bundle.ts'
import { nextPinHandlers } from './next-pin.ts'
import { runSession, type SessionOptions } from './session.ts'
import { pause } from './wait.ts'

export interface LinkOptions extends Omit<SessionOptions, 'moved'> {
  readonly bundleFile: string
  readonly random?: () => number // of [0, 1)
}

const unknownTokenMs = 30_000
const conflictMs = 30_000
const pendingMs = 60_000

/** Until `signal`, or until the server has revoked the last token that this agent has: its bundle is answered. */
export async function runLink(options: LinkOptions, signal: AbortSignal): Promise<Bundle | null> {
  const { clock, random = Math.random } = options
  let bundle = mustRead(options.bundleFile)
  for (let failures = 0; !signal.aborted; ) {
    const { reason, wasWelcome } = await runSession(withPins(options, bundle), bundle, signal)
    failures = wasWelcome ? 1 : failures + 1
    if (signal.aborted) break
    if (reason === 'token_revoked') {
      const next = await awaitOther(options, bundle, signal)
      if (next === null) return signal.aborted ? null : bundle
      bundle = next
      continue
    }
    await pause(clock, delayMs(reason, failures, random), signal)
    bundle = reread(options, bundle)
  }
  return null
}

/** What one stream says of the server's next leaf goes into the bundle that it came up with. */
function withPins(options: LinkOptions, bundle: Bundle): SessionOptions {
  const { bundleFile, handlers, log } = options
  return {
    ...options,
    handlers: [...handlers, ...nextPinHandlers(bundleFile, bundle)],
    moved() {
      promoteNextPin(bundleFile, bundle.token)
      log.info(
        'control.pin_moved',
        'the server shows its next certificate, and the old one is trusted no more'
      )
    }
  }
}

/** Full jitter: a fleet whose server comes back does not come back in step. */
function delayMs(reason: string, failures: number, random: () => number): number {
  if (reason === 'token_unknown') return unknownTokenMs
  if (reason === 'instance_conflict') return conflictMs
  return random() * Math.min(30_000, 500 * 2 ** (failures - 1))
}

/** A re-enrollment ends the old token a moment before the new one lies in the bundle. */
async function awaitOther(
  options: LinkOptions,
  refused: Bundle,
  signal: AbortSignal
): Promise<Bundle | null> {
  const { bundleFile, clock } = options
  for (const untilMs = clock.now() + pendingMs; ; ) {
    const isPending = hasPending(bundleFile) // asked first: see writeBundle
    const bundle = reread(options, refused)
    if (bundle.token !== refused.token) return bundle
    if (!isPending || clock.now() >= untilMs || signal.aborted) return null
    await pause(clock, 1000, signal)
  }
}

function reread({ bundleFile, log }: LinkOptions, before: Bundle): Bundle {
  try {
    return readBundle(bundleFile) ?? before
  } catch (error) {
    log.warn('bundle.unreadable', `the bundle read before stays in use: ${String(error)}`)
    return before
  }
}

function mustRead(file: string): Bundle {
  const bundle = readBundle(file)
  if (!bundle) throw new TypeError(`${file} was there when the agent was opened`)
  return bundle
}
