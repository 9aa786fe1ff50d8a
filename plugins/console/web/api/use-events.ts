// Server-sent events. Pauses while the tab is hidden and reconnects when the stream ends.
import { useEffect, useRef, useState } from 'react'
import { toApiError } from './api-error.ts'
import { handleAuthError } from './query-client.ts'
import { reportAnswer } from './reachability.ts'
import { readEvents } from './read-events.ts'

/** `waiting`: no event since the stream opened. */
export type StreamState = 'waiting' | 'live'

const reconnectMs = 3000

/** Calls `onEvent` for each event with one of the names. Connects only while `url` is not null. */
export function useEvents<T>(
  url: string | null,
  names: readonly string[],
  onEvent: (data: T, name: string) => void
): StreamState {
  const [state, setState] = useState<StreamState>('waiting')
  const latest = useRef(onEvent)
  latest.current = onEvent
  const wanted = names.join(' ')
  useEffect(() => {
    if (url === null) return
    let reading: AbortController | null = null
    let timer: ReturnType<typeof setTimeout> | undefined
    const close = (): void => {
      clearTimeout(timer)
      reading?.abort()
      reading = null
      setState('waiting')
    }
    const open = (): void => {
      close()
      if (document.hidden) return
      const opened = new AbortController()
      reading = opened
      readEvents(url, opened.signal, take)
        .catch((thrown: unknown) => opened.signal.aborted || handleAuthError(toApiError(thrown)))
        .finally(() => {
          if (opened.signal.aborted) return
          close()
          timer = setTimeout(open, reconnectMs)
        })
    }
    const take = (name: string, data: string): void => {
      reportAnswer()
      if (!wanted.split(' ').includes(name)) return
      setState('live')
      latest.current(JSON.parse(data) as T, name)
    }
    open()
    document.addEventListener('visibilitychange', open)
    return () => {
      document.removeEventListener('visibilitychange', open)
      close()
    }
  }, [url, wanted])
  return state
}
