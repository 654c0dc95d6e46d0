{-# LANGUAGE OverloadedStrings #-}
module Data.Shape (Shape(..), area) where

import qualified Data.Map as M

-- | A shape.
data Shape
  = Circle Double
  | Square Double

-- | Its area.
area :: Shape -> Double
area (Circle r) = pi * r * r
area (Square a) = a * a

class Monoid a => Sized a where
  size :: a -> Int

instance Sized Shape where
  size _ = 1

newtype Wrapper a = Wrapper { unwrap :: a }
