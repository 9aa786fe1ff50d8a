import { Alert, Text, useComputedColorScheme } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useMemo, useRef, useState } from 'react'
import { useLocation } from 'wouter'
import type { ConsoleContext, ConsoleElement } from '../../../slots.ts'
import { untypedApi } from '../../api/call.ts'
import type { Me } from '../../api/me.ts'
import { language, text } from '../../text/text.ts'
import { placeElement } from './place-element.ts'
import { type PluginPart, titleOf } from './plugin-parts.ts'

interface Props {
  readonly part: PluginPart
  readonly me: Me
  readonly ids?: Pick<ConsoleContext, 'rule_id' | 'client_id'>
}

export function PluginElement({ part, me: { user_id, role }, ids }: Props) {
  const host = useRef<HTMLDivElement>(null)
  const [made, setMade] = useState<ConsoleElement | null>(null)
  const [failure, setFailure] = useState<string | null>(null)
  const theme = useComputedColorScheme('light')
  const [, go] = useLocation()
  const context = useMemo(
    (): ConsoleContext => ({ theme, language, user: { user_id, role }, ...ids, go }),
    [theme, user_id, role, ids, go]
  )
  const given = useRef({ api: untypedApi, context })
  useEffect(() => {
    given.current = { api: untypedApi, context }
    if (made) made.context = context
  }, [made, context])
  useEffect(() => {
    const place = placeElement(part, given.current, () => host.current)
    place.then(setMade, (error: unknown) => setFailure(String(error)))
  }, [part])
  const refreshed = useQuery({
    queryKey: ['console-part', part.module, part.element, ids],
    enabled: made?.refresh !== undefined,
    retry: false,
    gcTime: 0,
    queryFn: async () => {
      await made?.refresh?.()
      return null
    }
  })
  return (
    <>
      {failure !== null && (
        <Alert
          color="red"
          variant="default"
          role="alert"
          title={text.pluginPart.failed(titleOf(part), part.plugin)}
        >
          <Text size="sm">{failure}</Text>
        </Alert>
      )}
      <div ref={host} data-stale={refreshed.isError || undefined} />
    </>
  )
}
