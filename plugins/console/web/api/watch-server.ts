// The one source of what is new: each second the server tells by a number whether something has changed. Then, and when it
// answers again after a loss, all that is shown is read again.

import { errorOf } from './api-error.ts'
import { call } from './call.ts'
import { handle, queries } from './query-client.ts'
import { answered, onReturn, unanswered } from './reachability.ts'

const everyMs = 1000
const patienceMs = 800 // both together: a loss is seen within 2 s
const maxUnanswered = 3
const restShare = 4 // a long list is read for at most a fifth of the time

let last: number | null = null
let pages: string | null = null
let isOutdated = false

/** True if the server has other pages than these: the next step loads them. */
export const isPageOutdated = (): boolean => isOutdated

/** Watches the server while the page is seen. Before the sign-in only whether it answers. */
export function watchServer(isSignedIn: boolean): () => void {
  let open = 0
  const ask = async (): Promise<void> => {
    if (document.hidden || open >= maxUnanswered) return
    open++
    const since = Date.now()
    const patience = setTimeout(() => unanswered(since), patienceMs)
    await (isSignedIn ? askForChanges() : askForLife(since))
    clearTimeout(patience)
    open--
  }
  const timer = setInterval(ask, everyMs)
  const stop = onReturn(() => void rereadNow())
  document.addEventListener('visibilitychange', ask)
  void ask()
  return () => {
    clearInterval(timer)
    stop()
    document.removeEventListener('visibilitychange', ask)
  }
}

async function askForLife(since: number): Promise<void> {
  await fetch('/livez', { cache: 'no-store' }).then(answered, () => unanswered(since))
}

async function askForChanges(): Promise<void> {
  try {
    const seen = await call('GET /v1/changes')
    isOutdated ||= pages !== null && seen.pages !== pages
    pages ??= seen.pages
    const isNew = last !== null && seen.last !== last
    last = seen.last
    if (isNew) void reread()
  } catch (thrown) {
    handle(errorOf(thrown))
  }
}

let isReading = false
let isAgain = false

/** Reads again what is seen. Changes that come meanwhile are one. */
async function reread(): Promise<void> {
  isAgain = isReading
  if (isReading) return
  isReading = true
  do {
    isAgain = false
    const began = performance.now()
    await rereadNow()
    const restMs = restShare * (performance.now() - began)
    await new Promise(resolve => setTimeout(resolve, Math.min(restMs, 30_000)))
  } while (isAgain)
  isReading = false
}

/** Also what waits to be tried again. */
const rereadNow = (): Promise<void> => queries.invalidateQueries()
