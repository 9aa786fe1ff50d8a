// Server-sent events. Rests while the page is hidden, and begins again when the stream ends.
import { useEffect, useRef, useState } from 'react'
import { answered } from './reachability.ts'

/** `waiting`: nothing has come yet, or not since the stream was lost. */
export type StreamState = 'waiting' | 'live'

const againMs = 3000

/** Calls `onEvent` with the data of each event of the names. `url` null: there is nothing to hear. */
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
    let source: EventSource | null = null
    let timer: ReturnType<typeof setTimeout> | undefined
    const close = (): void => {
      clearTimeout(timer)
      source?.close()
      source = null
      setState('waiting')
    }
    const open = (): void => {
      close()
      if (document.hidden) return
      source = new EventSource(url)
      for (const name of wanted.split(' '))
        source.addEventListener(name, event => {
          answered()
          setState('live')
          latest.current(JSON.parse((event as MessageEvent<string>).data) as T, name)
        })
      // A refusal ends the stream for good, and says nothing: it is asked again, as after a loss.
      source.onerror = () => {
        close()
        timer = setTimeout(open, againMs)
      }
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
