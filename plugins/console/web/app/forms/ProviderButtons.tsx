import { Button } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import type { Provider } from '../../api/providers.ts'
import { FormError } from '../../parts/form/FormError.tsx'
import { text } from '../../text/text.ts'

interface Props {
  readonly providers: readonly Provider[]
  readonly start: (name: string) => Promise<void>
  readonly focused?: string | null // the name of a provider
}

/** A button for each provider. */
export function ProviderButtons({ providers, start, focused }: Props) {
  const [chosen, choose] = useState('')
  const going = useMutation({ meta: { shown: true }, mutationFn: start })
  return (
    <>
      <FormError error={going.error} />
      {providers.map(({ name, title }) => (
        <Button
          key={name}
          variant="default"
          autoFocus={name === focused}
          loading={going.isPending && chosen === name}
          onClick={() => {
            choose(name)
            going.mutate(name)
          }}
        >
          {text.identities.continueWith(title)}
        </Button>
      ))}
    </>
  )
}
