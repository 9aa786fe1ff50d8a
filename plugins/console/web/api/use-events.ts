// Server-sent events. Pauses while the tab is hidden and reconnects when the stream ends.
import { useEffect, useRef, useState } from 'react'
import { reportAnswer } from './reachability.ts'

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
          reportAnswer()
          setState('live')
          latest.current(JSON.parse((event as MessageEvent<string>).data) as T, name)
        })
      // The browser does not retry a refused stream and hides the reason, so this reconnects.
      source.onerror = () => {
        close()
        timer = setTimeout(open, reconnectMs)
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
