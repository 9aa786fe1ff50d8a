import { Button, Group, NativeSelect, TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { useState } from 'react'
import { fieldError } from '../../parts/form/field-error.ts'
import { text } from '../../text/text.ts'
import type { ClientsById } from '../clients/queries.ts'
import type { FilterValues } from './filters.ts'
import { shownStates } from './shown-state.ts'

interface Props {
  readonly filters: FilterValues
  readonly onChange: (name: keyof FilterValues, value: string) => void
  readonly clients: ClientsById
  readonly error: Error | null
}

/** Inputs for the state and the labels. Other filters come from links: each is a button that removes it. */
export function RuleFilters({ filters, onChange, clients, error }: Props) {
  const [selector, setSelector] = useState(filters.selector)
  const apply = useDebouncedCallback((next: string) => onChange('selector', next.trim()), 300)
  // A link may ask for several states. The list then has them as one more option.
  const states = filters.state.includes(',') ? [filters.state, ...shownStates] : shownStates
  return (
    <Group gap="sm" mb="sm" align="start" className="tools">
      <NativeSelect
        aria-label={text.rules.state}
        value={filters.state}
        onChange={event => onChange('state', event.currentTarget.value)}
        data={[
          { value: '', label: text.rules.anyState },
          ...states.map(value => ({
            value,
            label: value
              .split(',')
              .map(name => text.states[name as (typeof shownStates)[number]])
              .join(', ')
          }))
        ]}
      />
      <TextInput
        aria-label={text.rules.selector}
        placeholder={text.rules.selectorExample}
        value={selector}
        onChange={event => {
          setSelector(event.currentTarget.value)
          apply(event.currentTarget.value)
        }}
        error={fieldError(error, 'selector')}
        miw={260}
        autoCapitalize="none"
        spellCheck={false}
      />
      <ActiveFilter
        name={filters.client && text.rules.onClient(clients.get(filters.client)?.client_name ?? '…')}
        onRemove={() => onChange('client', '')}
      />
      <ActiveFilter
        name={filters.owner && text.rules.ownedBy(filters.owner)}
        onRemove={() => onChange('owner', '')}
      />
      <ActiveFilter
        name={filters.targets && text.rules.targetsDown}
        onRemove={() => onChange('targets', '')}
      />
      <ActiveFilter
        name={filters.link && text.links.ofLink(linkName(filters.link, clients))}
        onRemove={() => onChange('link', '')}
      />
    </Group>
  )
}

/** 'paris → lyon' for the ids of both clients. */
const linkName = (link: string, clients: ClientsById): string => {
  const [near, far] = link.split('/').map(id => clients.get(id)?.client_name ?? '…')
  return text.links.name(near ?? '', far ?? '')
}

const ActiveFilter = ({ name, onRemove }: { readonly name: string; readonly onRemove: () => void }) =>
  name !== '' && (
    <Button
      variant="light"
      onClick={onRemove}
      aria-label={text.rules.removeFilter(name)}
      rightSection={<span aria-hidden="true">✕</span>}
    >
      {name}
    </Button>
  )
