// The environment that a program was started in. Read here alone; everything else gets what it needs as a parameter.
export const hostEnvironment: Readonly<Record<string, string | undefined>> = process.env
