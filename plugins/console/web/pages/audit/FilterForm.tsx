import { Button, Group, NativeSelect, SimpleGrid, TextInput } from '@mantine/core'
import { type ChangeEvent, useState } from 'react'
import { FormError } from '../../parts/form/FormError.tsx'
import { bindFields } from '../../parts/form/fields.ts'
import { fromLocalInput, toLocalInput } from '../../parts/local-time.ts'
import { text } from '../../text/text.ts'
import { UserSelect } from '../users/UserSelect.tsx'
import type { Filters } from './use-entries.ts'

interface Props {
  readonly filters: Filters
  readonly error: Error | null
  readonly onChange: (filters: Filters) => void
}

const noFilters: Filters = { actor: '', action: '', outcome: '', since: '', until: '', request_id: '' }

const fields = {
  actor: { label: text.audit.actor },
  action: { label: text.audit.action },
  outcome: { label: text.audit.outcome },
  since: { label: text.audit.since },
  until: { label: text.audit.until },
  request_id: { label: text.audit.request }
}

/** Filters of the audit log. They apply on submit, not while the user types. */
export function FilterForm({ filters, error, onChange }: Props) {
  const [values, setValues] = useState(filters)
  const { set, field, input } = bindFields({ values, setValues, fields, error: null })
  const timeInput = (name: 'since' | 'until') => ({
    ...input(name),
    value: toLocalInput(values[name]),
    onChange: (event: ChangeEvent<HTMLInputElement>) =>
      set({ [name]: fromLocalInput(event.currentTarget.value) ?? '' })
  })
  return (
    <form
      onSubmit={event => {
        event.preventDefault()
        onChange({ ...values, action: values.action.trim(), request_id: values.request_id.trim() })
      }}
    >
      <SimpleGrid cols={{ base: 1, xs: 2, md: 3 }} mb="sm">
        <UserSelect {...field('actor')} placeholder="" />
        <TextInput {...input('action')} placeholder={text.audit.actionHint} autoCapitalize="none" />
        <NativeSelect
          {...input('outcome')}
          data={(['all', 'allow', 'deny'] as const).map(value => ({
            value: value === 'all' ? '' : value,
            label: text.audit.outcomes[value]
          }))}
        />
        <TextInput type="datetime-local" {...timeInput('since')} />
        <TextInput type="datetime-local" {...timeInput('until')} />
        <TextInput {...input('request_id')} />
      </SimpleGrid>
      <FormError error={error} />
      <FilterButtons
        isFiltered={Object.values(filters).some(value => value !== '')}
        onClear={() => {
          setValues(noFilters)
          onChange(noFilters)
        }}
      />
    </form>
  )
}

interface ButtonsProps {
  readonly isFiltered: boolean
  readonly onClear: () => void
}

const FilterButtons = ({ isFiltered, onClear }: ButtonsProps) => (
  <Group mb="lg">
    <Button type="submit" variant="default">
      {text.audit.filter}
    </Button>
    {isFiltered && (
      <Button variant="subtle" onClick={onClear}>
        {text.audit.clear}
      </Button>
    )}
  </Group>
)
