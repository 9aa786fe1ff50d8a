import { Paper, Stack, Text, Title } from '@mantine/core'
import type { ReactNode } from 'react'
import { useCheckedForm } from '../../parts/form/use-checked-form.ts'
import type { useForm } from '../../parts/form/use-form.ts'
import { text } from '../../text/text.ts'

interface Props {
  readonly title?: string // none: the form is inside a dialog with a title
  readonly lead?: string
  readonly form: ReturnType<typeof useForm>['form']
  readonly children: ReactNode
}

/** A form on a page without navigation, or in a dialog. */
export const FormCard = ({ title, lead, form, children }: Props) => (
  <Paper
    component="form"
    {...useCheckedForm(form)}
    {...(title !== undefined && { withBorder: true, shadow: 'sm', p: 'xl', maw: 420 })}
    w="100%"
  >
    <Stack>
      {title !== undefined && (
        <>
          <Text c="dimmed" fw={600}>
            {text.product}
          </Text>
          <Title order={1} size="h2">
            {title}
          </Title>
        </>
      )}
      {lead && <Text>{lead}</Text>}
      {children}
    </Stack>
  </Paper>
)
