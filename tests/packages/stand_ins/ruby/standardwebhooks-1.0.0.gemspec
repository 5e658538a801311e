Gem::Specification.new do |spec|
  spec.name = "standardwebhooks"
  spec.version = "1.0.0"
  spec.summary = "A stand-in for tests"
  spec.authors = ["Angarium"]
end
